/**
 * Writes answers as JSON by the schema of their route, with `fast-json-stringify`. A member that
 * the schema does not name is not written: a route answers what it says it answers.
 */
import fastJson from 'fast-json-stringify'
import type { ObjectSchema } from './schema.ts'

const writers = new WeakMap<ObjectSchema, (value: unknown) => string>()

/** Compiled with the first use: a start does not wait for routes that nobody asks. */
export function writeJson(schema: ObjectSchema, value: unknown): string {
  let write = writers.get(schema)
  if (write === undefined) {
    write = fastJson(schema as Parameters<typeof fastJson>[0])
    writers.set(schema, write)
  }
  return write(value)
}
