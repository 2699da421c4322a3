export interface CartItem {
  article: string;
  pieces: number;
}

/** Keeps what a visitor picked, also when the page is loaded again. */
export class Cart {
  constructor(private storage: Storage) {}

  items(): CartItem[] {
    return JSON.parse(this.storage.getItem("cart") ?? "[]");
  }

  add(item: CartItem): void {
    this.storage.setItem("cart", JSON.stringify([...this.items(), item]));
  }
}
