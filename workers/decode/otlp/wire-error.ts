/** What makes a part of protobuf fail as a whole. */
import type { RejectCode } from '../../../src/model/batch/part-result.ts'

export const FIELD_TOO_LONG = 'a field is longer than the message around it'

/** For what protobufjs' `Reader` does not look at. Thrown once a part at most. */
export class WireError extends Error {
  override readonly name = 'WireError'
  readonly code: RejectCode

  constructor(message: string, code: RejectCode = 'malformed') {
    super(message)
    this.code = code
  }
}

/** What is wrong with the wire, said without its contents; anything else thrown is our bug. */
export function toWireError(error: unknown): WireError {
  if (error instanceof WireError) return error
  const message = error instanceof Error ? error.message : ''
  if (message.startsWith('index out of range')) return new WireError('the data ends inside a field')
  const isReaders = /^(invalid |illegal tag|max depth exceeded)/.test(message)
  if (!isReaders) throw error
  return new WireError(message.replace(/ at offset \d+$/, ''))
}
