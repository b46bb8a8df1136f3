/** A route's description, written once: requests, answers and the published API follow it. */
import type { ObjectSchema, Schema } from './schema.ts'

export interface RouteDescription {
  /** Unique; its name in generated clients. */
  readonly operationId: string
  /** One line, without a full stop. */
  readonly summary: string
  /** The heading that it is listed under. */
  readonly tag: string
  readonly description?: string
  /** What the request must show: nothing, an API key of a stream, or an access token. */
  readonly credential: 'none' | 'key' | 'basic' | 'token'
  /** The cookie that may stand for the token, by its name. */
  readonly cookie?: string | undefined
  /** The scope that the token must have. */
  readonly scope?: string
  /** Path parameters that are not plain ids, by their names in the pattern. */
  readonly path?: Readonly<Record<string, Schema>>
  /** Parameters of the URL; if absent, any parameter is refused. */
  readonly query?: Pick<ObjectSchema, 'properties' | 'required'>
  readonly headers?: Readonly<Record<string, Schema>>
  readonly body?: {
    /** The schema of each media type. */
    readonly content: Readonly<Record<string, Schema>>
    readonly required: boolean
  }
  /** By status. Errors are added, as they are the same for all routes. */
  readonly answers: Readonly<Record<number, AnswerDescription>>
}

export interface AnswerDescription {
  readonly description: string
  /** By media type; absent when there is no body. */
  readonly content?: Readonly<Record<string, Schema>>
}
