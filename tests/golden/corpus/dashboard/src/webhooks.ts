import { createHmac, timingSafeEqual } from "node:crypto";

/** The value of X-Hive-Signature for a body. */
export function signBody(secret: string, body: string): string {
  return createHmac("sha256", secret).update(body).digest("hex");
}

/** Compares in constant time, so that nobody can guess a signature byte by byte. */
export function verifySignature(secret: string, body: string, signature: string): boolean {
  const expected = Buffer.from(signBody(secret, body));
  const given = Buffer.from(signature);
  return expected.length === given.length && timingSafeEqual(expected, given);
}
