"""Questions in five languages over one small code base, without any model: the right file comes first."""

from __future__ import annotations

import pytest

from llama_index_codeindex import HybridCodeRetriever
from tests.search.helpers import places, retriever

FILES = {
    "payroll.py": (
        "def overtime(hours):\n    # 计算员工的加班费和工资总额\n    # Çalışanların fazla mesai ücretini hesaplar\n"
        "    # 残業代と給与の合計を計算する\n    # Вычисляет оплату сверхурочных часов сотрудника\n"
        "    # Berechnet die Überstundenvergütung der Mitarbeiter\n    return hours * 1.5\n"
    ),
    "mailer.py": (
        "def deliver(message):\n    # 发送电子邮件通知给用户\n    # Kullanıcıya e-posta bildirimi gönderir\n"
        "    # ユーザーにメール通知を送信する\n    # Отправляет пользователю письмо с уведомлением\n"
        "    # Verschickt eine Benachrichtigung per E-Mail an den Benutzer\n    return message\n"
    ),
    "backup.py": (
        "def archive(folder):\n    # 压缩文件夹并备份数据库\n    # Veritabanını yedekler ve klasörü sıkıştırır\n"
        "    # データベースをバックアップしてフォルダを圧縮する\n    # Создаёт резервную копию базы данных и сжимает папку\n"
        "    # Sichert die Datenbank und komprimiert das Verzeichnis\n    return folder\n"
    ),
    "login.py": (
        "def check(secret):\n    # 验证密码并锁定失败的登录\n    # Parolayı doğrular ve başarısız girişleri kilitler\n"
        "    # パスワードを検証し、失敗したログインをロックする\n    # Проверяет пароль и блокирует неудачные входы\n"
        "    # Prüft das Passwort und sperrt fehlgeschlagene Anmeldungen\n    return bool(secret)\n"
    ),
    "weather.py": (
        "def forecast(city):\n    # 预测明天的温度和降雨量\n    # Yarınki sıcaklığı ve yağmuru tahmin eder\n"
        "    # 明日の気温と降水量を予測する\n    # Прогнозирует завтрашнюю температуру и осадки\n"
        "    # Sagt die Temperatur und den Niederschlag von morgen voraus\n    return city\n"
    ),
    "router.py": (
        "def choose(path):\n    # 根据请求路径选择处理程序\n    # İstek yoluna göre işleyiciyi seçer\n"
        "    # リクエストのパスに応じてハンドラを選ぶ\n    # Выбирает обработчик по пути запроса\n"
        "    # Wählt anhand des Anfragepfads den passenden Handler\n    return path\n"
    ),
}


@pytest.fixture(scope="module")
def over_all() -> HybridCodeRetriever:
    return retriever(FILES)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("加班费怎么计算", "payroll.py"), ("在哪里发送邮件", "mailer.py"), ("数据库备份", "backup.py"),
        ("密码验证", "login.py"), ("明天的温度", "weather.py"), ("请求路径的处理程序", "router.py"),
        ("fazla mesai ücreti nerede hesaplanıyor", "payroll.py"), ("e-posta bildirimi nasıl gönderilir", "mailer.py"),
        ("veritabanı yedeği", "backup.py"), ("PAROLA doğrulama", "login.py"), ("yarınki sıcaklık", "weather.py"),
        ("istek yolu için işleyici", "router.py"),
        ("残業代の計算", "payroll.py"), ("メールを送信する場所", "mailer.py"), ("データベースのバックアップ", "backup.py"),
        ("パスワードの検証", "login.py"), ("気温の予測", "weather.py"), ("パスでハンドラを選ぶ", "router.py"),
        ("где считается оплата сверхурочных", "payroll.py"), ("отправка письма пользователю", "mailer.py"),
        ("резервное копирование базы", "backup.py"), ("проверка пароля", "login.py"),
        ("прогноз температуры", "weather.py"), ("выбор обработчика запросов", "router.py"),
        ("wie wird die Überstundenvergütung berechnet", "payroll.py"), ("Benachrichtigung per Mail", "mailer.py"),
        ("Datenbank sichern", "backup.py"), ("Passwort prüfen", "login.py"), ("Temperatur von morgen", "weather.py"),
        ("welcher Handler passt zum Anfragepfad", "router.py"),
    ],
)  # fmt: skip
def test_the_right_file_comes_first(over_all: HybridCodeRetriever, question: str, expected: str) -> None:
    assert places(over_all.retrieve(question))[:1] == [expected]
