/**
 * An HTTP engine as the service sees it: the part of uWebSockets.js that all engines have. Use no
 * other part of them. `load-engine.ts` chooses the engine.
 */

/** Valid only during the route handler's synchronous part. */
export interface EngineRequest {
  /** Empty when absent. */
  getHeader(lowerCaseName: string): string
  /** Every header line, names in lower case. */
  forEach(visit: (lowerCaseName: string, value: string) => void): void
  getParameter(index: number): string | undefined
  /** The path without the query string. */
  getUrl(): string
  getMethod(): string
  getQuery(): string | undefined
}

/** Valid until it is ended, closed or aborted: any later call is undefined behaviour. */
export interface EngineResponse {
  writeStatus(status: string | Uint8Array): unknown
  /** Bytes only by `interim-answer.ts`, on native engines. */
  writeHeader(name: string | Uint8Array, value: string): unknown
  /** After a `write`: the body's end. `body` is empty then, and `closeConnection` false. */
  end(body: string | Uint8Array, closeConnection: boolean): unknown
  /**
   * Sends `bytes`, which are not empty, of a body of unknown length. False when the engine holds
   * some of what it was given: of these bytes, or, in a cork, of earlier ones. `onWritable` is
   * called when it can take more; native engines then send what they hold when a cork is left.
   */
  write(bytes: Uint8Array): boolean
  /**
   * Sends as much of `rest`, the remaining body, as can be sent at once; nothing is kept of what is
   * left. `totalBytes` are the whole body's. Returns whether all of `rest` could be sent, and
   * whether the reply is over.
   */
  tryEnd(rest: Uint8Array, totalBytes: number): readonly [isTaken: boolean, isDone: boolean]
  /** Calls `handler` when more can be sent, from `offset` of what `tryEnd` was given. */
  onWritable(handler: (offset: number) => boolean): unknown
  /**
   * Ends a reply to HEAD, or one whose status has no body. Takes no length: given one, 20.30 sends
   * the reply and then waits for its body.
   */
  endWithoutBody(): unknown
  /** Closes the connection at once; the abort handler runs. */
  close(): unknown
  cork(write: () => void): unknown
  onAborted(handler: () => void): unknown
  /** An ArrayBuffer is detached once `handler` returns. */
  onData(handler: (chunk: ArrayBuffer | Uint8Array, isLast: boolean) => void): unknown
  pause(): unknown
  resume(): unknown
}

export type EngineHandler = (response: EngineResponse, request: EngineRequest) => void
export type EngineMethod = 'get' | 'post' | 'put' | 'patch' | 'del' | 'head' | 'options' | 'any'
/** Truthy when listening. */
export type ListenToken = object | false

export interface EngineApp extends Record<EngineMethod, AddRoute> {
  listen(
    host: string,
    port: number,
    options: number,
    callback: (token: ListenToken) => void,
  ): unknown
  /** Closes every socket at once. */
  close(): unknown
  /** Not the older builds: `change` is 1 when a connection opens, negative when it closes. */
  filter?(handler: (response: unknown, change: number) => void): unknown
}
type AddRoute = (pattern: string, handler: EngineHandler) => unknown

export interface TlsFiles {
  readonly certFile: string
  readonly keyFile: string
}

export interface Engine {
  /** For the start log. */
  readonly name: string
  readonly version: string
  /** What `end` is given was read when it returns. */
  readonly copiesBodies: boolean
  /** A chunk of `write` leaves with its line end. Else that comes with the next chunk. */
  readonly endsChunks: boolean
  /** Throws when the certificate or key cannot be used. */
  createApp(tls: TlsFiles | undefined): EngineApp
  closeListenSocket(token: object): void
  localPort(token: object): number
  /**
   * Sends "100 Continue" and returns the response to go on with; called before anything else is
   * sent. Absent where the engine itself answers an expectation however it is written.
   */
  readonly sendContinue?: (response: EngineResponse) => EngineResponse
  /**
   * Sends `message` unchanged after `HTTP/1.1 `, as a whole response, while the engine still
   * believes that none was sent: so the request body keeps coming and `close` stays valid.
   */
  writeRaw(response: EngineResponse, message: Uint8Array): void
}
