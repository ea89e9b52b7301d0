// The parts of Node.js that the examples use. Install the package @types/node instead if npm reaches a registry.
declare const process: {argv: string[]; env: Record<string, string | undefined>; exit(status: number): never; exitCode: number};

declare module 'node:fs/promises' {
  export function mkdir(path: string, options: {recursive: true}): Promise<unknown>;
  export function readFile(path: string, encoding: 'utf8'): Promise<string>;
}

declare module 'node:http' {
  interface IncomingMessage extends AsyncIterable<Uint8Array> {
    headers: Record<string, string | string[] | undefined>;
  }
  interface ServerResponse {
    writeHead(status: number, headers?: Record<string, string>): ServerResponse;
    end(body?: string): void;
  }
  export function createServer(handler: (request: IncomingMessage, response: ServerResponse) => void): {
    listen(port: number, host: string, listening: () => void): void;
  };
}

declare module 'node:path' {
  export function join(...parts: string[]): string;
}
