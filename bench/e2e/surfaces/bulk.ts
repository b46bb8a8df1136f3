import type { Surface } from './surface.ts'

/** The action of forwarders that leave ids to the cluster. */
const ACTION = '{"create":{"_index":"logs"}}\n'
const CREATED = '"status":201'

export const bulk: Surface = {
  name: 'bulk',
  path: '/_bulk',
  contentType: 'application/x-ndjson',
  corpus: 'json',
  authorization: (key) => {
    return `Authorization: Basic ${Buffer.from(`bench:${key}`).toString('base64')}`
  },
  encodeBody: (lines) => Buffer.from(lines.map((line) => `${ACTION}${line}\n`).join('')),
  countAccepted: countCreatedItems,
}

/**
 * The number of items with status 201. Counted, not parsed: the reply has 180 bytes an event, and
 * parsing them would cost the client as much as the service needs for an event.
 */
function countCreatedItems(reply: string): number {
  let count = 0
  let at = reply.indexOf(CREATED)
  while (at >= 0) {
    count++
    at = reply.indexOf(CREATED, at + CREATED.length)
  }
  return count
}
