export class HttpClient {
  post(url: string, body: unknown): void {}
}
