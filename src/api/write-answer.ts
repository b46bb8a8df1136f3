/**
 * Writes answers as JSON by the schema of their route, with `fast-json-stringify`. A member that
 * the schema does not name is not written, so a route answers only what it describes.
 */
import fastJson from 'fast-json-stringify'
import type { ObjectSchema } from './schema.ts'

const writers = new WeakMap<ObjectSchema, (value: unknown) => string>()

/** Compiled at first use, so the start does not wait for routes that nobody calls. */
export function writeJson(schema: ObjectSchema, value: unknown): string {
  let write = writers.get(schema)
  if (write === undefined) {
    write = fastJson(schema as Parameters<typeof fastJson>[0])
    writers.set(schema, write)
  }
  return write(value)
}
