/**
 * One HTTP request and its reply, as the rest of the code sees them. Types only: `server.ts` makes
 * them from uWebSockets.js, tests make them by hand.
 */

import type { RouteDescription } from '../api/route-description.ts'
import type { InFlightRequest } from './in-flight.ts'
import type { ReplyStream } from './reply-stream.ts'

/** Receives a request body as it arrives. */
export interface BodyConsumer {
  /**
   * `bytes` are only valid during the call: copy whatever is needed later. `isLast` comes exactly
   * once, possibly with no bytes. Never called again after `aborted`.
   */
  chunk(bytes: Uint8Array, isLast: boolean): void
  /** The client went away before the reply; nothing can be sent any more. Called at most once. */
  aborted(): void
}

export interface Reply {
  readonly status: number
  readonly contentType?: string
  readonly headers?: readonly (readonly [name: string, value: string])[]
  readonly body?: string | Uint8Array
  /** Called when nobody reads `body` any more; perhaps never. */
  readonly sent?: () => void
  /**
   * Counts a body over REPLY_DIRECT_BYTES_MAX until its reader has taken it. `cut` closes the
   * connection. Without this budget the server's own counts it, and when that is full the reply
   * becomes `overloaded`: so a budget must be given where something was stored.
   */
  readonly room?: (bytes: number, cut: () => void) => InFlightRequest
}

/** What a streamed reply begins with. */
export interface StreamHead extends Pick<Reply, 'status' | 'contentType' | 'headers'> {
  /**
   * Bytes without a meaning between what is written. Given where each write is a message for a
   * reader that waits: native engines send the line end of a chunk only before the next one, and
   * some clients hand over whole chunks only. There these bytes follow as a chunk of their own.
   */
  readonly filler?: Uint8Array
  /**
   * Called when the server is to stop, at most once, and possibly before `stream` has returned. The
   * stream should then end soon: the server does not wait for one whose reader takes nothing.
   */
  readonly onStopping?: (stream: ReplyStream) => void
}

export interface Exchange {
  /** Upper case. */
  readonly method: string
  /** As sent, without the query string, not percent-decoded. */
  readonly path: string
  /** Without the `?`; empty when there is none. */
  readonly queryString: string
  /** True once the client is gone. */
  readonly aborted: boolean
  /** Percent-decoded value of the route's n-th `:parameter`. */
  param(index: number): string
  /** Empty when absent. `name` is lower case. Only while the handler's first call is running. */
  header(name: string): string
  /** How many lines of this name the head has; one may be empty. As `header` otherwise. */
  headerLines(name: string): number
  /** Must be called before the handler's first call returns, at most once. */
  readBody(consumer: BodyConsumer): void
  /**
   * Calls `listener` when the client goes away before the reply, or before the end of a streamed
   * one: nobody waits for the work any more. At most one; must be set before the handler's first
   * call returns.
   */
  onAborted(listener: () => void): void
  /** Stops and resumes reading this request's body from the network (back-pressure). */
  pause(): void
  resume(): void
  /**
   * Sends the reply, once. Ignored when the client is gone. May be called before the body has been
   * read: the rest of it is then read and thrown away within LINGER_BYTES_MAX and LINGER_MS_MAX.
   */
  reply(reply: Reply): void
  /**
   * Begins a reply of unknown length, instead of `reply`; it counts as an active request until its
   * end. Over from the start when the client is gone, or wants no body (HEAD). Chunked; for a
   * client that speaks HTTP/1.0 the connection is closed after it. Throws `overloaded`, with
   * nothing sent, when there are too many large replies already. The connection of a reader that
   * takes nothing for some time, 10 to 30 s, is closed.
   */
  stream(head: StreamHead): ReplyStream
  /** Drops the connection without a reply: for outcomes we do not know. */
  drop(): void
}

/**
 * Handles one request. A throw or rejection is answered as `internal` and logged; a streamed reply
 * that has begun is aborted.
 */
export type Handler = (exchange: Exchange) => void | Promise<void>

export interface Route {
  /** Upper case. */
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD' | 'OPTIONS'
  /** As uWebSockets.js takes it: `/v1/streams/:id/keys`. */
  readonly pattern: string
  /** Doubled slashes in a path, and one at its end, mean nothing: `loose-paths.ts`. */
  readonly isLoose?: boolean
  /** What the API's description says of it. */
  readonly description?: RouteDescription
  readonly handler: Handler
}
