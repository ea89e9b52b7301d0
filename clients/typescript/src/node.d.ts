// The parts of Node.js that the client uses, so that it compiles without the package @types/node.
declare module 'node:crypto' {
  interface Hash {
    update(data: Uint8Array | string): Hash;
    digest(): Uint8Array;
    digest(encoding: 'base64'): string;
  }
  export function createHash(name: 'sha256'): Hash;
  export function createHmac(name: 'sha256', key: Uint8Array): Hash;
  export function createPublicKey(key: {key: {kty: 'OKP'; crv: 'Ed25519'; x: string}; format: 'jwk'}): unknown;
  export function randomUUID(): string;
  export function timingSafeEqual(a: Uint8Array, b: Uint8Array): boolean;
  export function verify(algorithm: null, data: Uint8Array, key: unknown, signature: Uint8Array): boolean;
}

declare module 'node:fs' {
  export function createReadStream(path: string): AsyncIterable<Uint8Array>;
}

declare module 'node:fs/promises' {
  interface FileHandle {
    writeFile(data: AsyncIterable<Uint8Array>): Promise<void>;
    close(): Promise<void>;
  }
  export function open(path: string, flags: 'wx'): Promise<FileHandle>;
  export function rename(from: string, to: string): Promise<void>;
  export function rm(path: string, options: {force: true}): Promise<void>;
}

declare module 'node:path' {
  export function basename(path: string): string;
  export function dirname(path: string): string;
  export function join(...parts: string[]): string;
}

declare const process: {env: Record<string, string | undefined>};
declare const Buffer: {from(text: string, encoding?: 'base64' | 'base64url'): Uint8Array & {toString(encoding: 'base64url'): string}};
