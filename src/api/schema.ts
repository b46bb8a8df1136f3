/**
 * The schema of a value of the API, in the part of JSON Schema 2020-12 that the routes need. Each
 * is written once: requests are checked against it (`check-value.ts`), answers are written by it
 * (`write-answer.ts`), and `GET /v1/openapi.json` shows it (`openapi.ts`).
 */

interface About {
  /** For people: what the value means, in a sentence or two. */
  readonly description?: string
  /**
   * Completes "must be …" instead of the words derived from the schema. A function gets the value,
   * so that it can name a repair. Not published.
   */
  readonly must?: string | ((value: unknown) => string)
  readonly default?: unknown
  readonly examples?: readonly unknown[]
}

interface Typed extends About {
  readonly anyOf?: undefined
}

export interface ObjectSchema extends Typed {
  readonly type: 'object'
  readonly properties: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  /** Absent: a request with another member is refused. Answers may always gain members. */
  readonly additionalProperties?: Schema
}

export interface ArraySchema extends Typed {
  readonly type: 'array'
  readonly items: Schema
  readonly minItems?: number
  readonly maxItems?: number
}

export interface StringSchema extends Typed {
  readonly type: 'string'
  readonly enum?: readonly string[]
  readonly minLength?: number
  /** In UTF-16 code units. */
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
}

export interface NumberSchema extends Typed {
  readonly type: 'integer' | 'number'
  readonly minimum?: number
  readonly maximum?: number
}

export interface PlainSchema extends Typed {
  readonly type: 'boolean' | 'null'
}

/** One of several forms, the first that fits. */
export interface AnyOfSchema extends About {
  readonly anyOf: readonly Schema[]
  readonly type?: undefined
}

/** Any JSON value. */
export interface AnySchema extends Typed {
  readonly type?: undefined
}

export type Schema =
  | ObjectSchema
  | ArraySchema
  | StringSchema
  | NumberSchema
  | PlainSchema
  | AnyOfSchema
  | AnySchema

/** `schema`, or null. */
export function nullable(schema: Schema, about: About = {}): AnyOfSchema {
  return { anyOf: [schema, { type: 'null' }], ...about }
}

export const RFC3339: StringSchema = {
  type: 'string',
  format: 'date-time',
  description: 'RFC 3339, in UTC',
}
