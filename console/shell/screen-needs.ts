import type { Scope } from '../base/rights.ts'
import type { Screen } from '../base/route.ts'

/** What a screen cannot do without. */
export const NEEDS: Readonly<Record<Screen, readonly [scope: Scope, what: string]>> = {
  explore: ['events:read', 'read events'],
  views: ['streams:read', 'look at views'],
  streams: ['streams:read', 'look at streams'],
  schema: ['streams:read', 'look at the schema of a stream'],
  redaction: ['streams:read', 'try redaction'],
  usage: ['streams:read', 'look at the usage of a stream'],
  alerts: ['alerts:read', 'look at alerts'],
  tokens: ['admin', 'manage tokens'],
}
