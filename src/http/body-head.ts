/** What the head of a request says of its body. */
import type { EngineRequest } from './engine.ts'
import { awaitsContinue } from './interim-answer.ts'

export interface BodyHead {
  /** 0 for a request without a body, -1 for one whose length is not declared. */
  readonly bodyBytes: number
  /** Where its body ends is not certain: what follows on the connection may be no request. */
  readonly isAmbiguous: boolean
  /** A header is there without a value. */
  readonly hasBlank: boolean
  /** The client waits for an interim answer that native engines do not give by themselves. */
  readonly awaitsContinue: boolean
}

export function readBodyHead(request: EngineRequest): BodyHead {
  lengths = 0
  blanks = 0
  blankLengths = 0
  waits = false
  request.forEach(countLine)
  const bodyBytes = declaredBodyBytes(request)
  const isAmbiguous = lengths > 1 || blankLengths > 0
  return {
    bodyBytes,
    isAmbiguous,
    hasBlank: blanks > 0,
    awaitsContinue: waits && bodyBytes !== 0 && !isAmbiguous,
  }
}

function declaredBodyBytes(request: EngineRequest): number {
  const contentLength = request.getHeader('content-length')
  // The engine has already refused a length that is not a number.
  if (contentLength !== '') return Number(contentLength)
  return request.getHeader('transfer-encoding') === '' ? 0 : -1
}

// One function for all requests; headers are visited within the call.
let lengths = 0
let blanks = 0
let blankLengths = 0
let waits = false

/**
 * Engines may use the first of two lengths where a proxy in front used the other: then what one of
 * them sees as a body is the next request to the other (RFC 9112, 6.3). A length without a value
 * is one that the engine could not read: native ones trim bytes from 0x80 on. Costs about 1 us.
 */
function countLine(name: string, value: string): void {
  const isLength = name === 'content-length' || name === 'transfer-encoding'
  if (isLength) lengths++
  else if (name === 'expect' && awaitsContinue(value)) waits = true
  if (value !== '') return
  blanks++
  if (isLength) blankLengths++
}
