import { HttpClient } from "./http";

export interface OrderDto {
  id: number;
}

export type OrderId = number;

export const PAGE_SIZE = 50;

export class OrderApi {
  constructor(private http: HttpClient) {}

  submit(order: OrderDto): void {
    this.http.post("/orders", order);
  }
}

export function submitAll(api: OrderApi, orders: OrderDto[]): void {
  orders.forEach((it) => api.submit(it));
}
