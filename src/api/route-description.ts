/** What a route says of itself, once: judged by, written by and published from here. */
import type { ObjectSchema, Schema } from './schema.ts'

export interface RouteDescription {
  /** Unique; what generated clients call it. */
  readonly operationId: string
  /** One line, without a full stop. */
  readonly summary: string
  /** The heading that it stands under. */
  readonly tag: string
  readonly description?: string
  /** What the request must show: nothing, an API key of a stream, or an access token. */
  readonly credential: 'none' | 'key' | 'basic' | 'token'
  /** That the token must have. */
  readonly scope?: string
  /** Path parameters that are more than an id, by their names in the pattern. */
  readonly path?: Readonly<Record<string, Schema>>
  /** Parameters of the URL; absent: it takes none, and any is refused. */
  readonly query?: Pick<ObjectSchema, 'properties' | 'required'>
  readonly headers?: Readonly<Record<string, Schema>>
  readonly body?: {
    /** A media type for each form. */
    readonly content: Readonly<Record<string, Schema>>
    readonly required: boolean
  }
  /** By status; errors are the same everywhere and are added. */
  readonly answers: Readonly<Record<number, AnswerDescription>>
}

export interface AnswerDescription {
  readonly description: string
  /** By media type; none: no body. */
  readonly content?: Readonly<Record<string, Schema>>
}
