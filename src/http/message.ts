/** What a reply is on the wire, as far as engines leave it to us. */
import assert from 'node:assert/strict'
import { STATUS_CODES } from 'node:http'
import type { EngineResponse } from './engine.ts'
import type { Reply, StreamHead } from './exchange.ts'

const statusLines = new Map<number, string>()

export function statusLine(status: number): string {
  let line = statusLines.get(status)
  if (line === undefined) {
    line = `${status} ${STATUS_CODES[status] ?? 'Unknown'}`
    statusLines.set(status, line)
  }
  return line
}

export function statusIsBodyless(status: number): boolean {
  return status === 204 || status === 304
}

export function byteLength(body: string | Uint8Array): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.byteLength
}

/** Native engines write header values unchecked, so a line break would let a value add headers. */
export function assertHeaders(headers: readonly (readonly [string, string])[]): void {
  for (const [, value] of headers) {
    assert(!/[\r\n\0]/.test(value), 'a header value holds a line break')
  }
}

/** A whole response after `HTTP/1.1 `, for `Engine.writeRaw`. */
export function rawMessage(reply: Reply, method: string): Uint8Array {
  let head = `${statusLine(reply.status)}\r\n`
  if (reply.contentType !== undefined) head += `Content-Type: ${reply.contentType}\r\n`
  for (const [name, value] of reply.headers ?? []) head += `${name}: ${value}\r\n`
  const body = Buffer.from(reply.body ?? '')
  if (!statusIsBodyless(reply.status)) head += `Content-Length: ${body.length}\r\n`
  head += `Date: ${new Date().toUTCString()}\r\nConnection: close\r\n\r\n`
  return method === 'HEAD' ? Buffer.from(head) : Buffer.concat([Buffer.from(head), body])
}

/** Status and headers, to a response that is corked. */
export function writeHead(
  response: EngineResponse,
  { status, contentType, headers }: StreamHead,
  close: boolean,
): void {
  response.writeStatus(statusLine(status))
  if (contentType !== undefined) response.writeHeader('Content-Type', contentType)
  if (headers !== undefined) {
    for (const [name, value] of headers) response.writeHeader(name, value)
  }
  if (close) response.writeHeader('Connection', 'close')
}
