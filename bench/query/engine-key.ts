/**
 * Preloaded into the service: writes down how it authenticates at its embedded ClickHouse, whose
 * password is made anew with each start and is nowhere else. So the bench can ask the same engine.
 */
import { subscribe } from 'node:diagnostics_channel'
import { existsSync, writeFileSync } from 'node:fs'
import type { ClientRequest } from 'node:http'
import { join } from 'node:path'
import { isMainThread } from 'node:worker_threads'

export const ENGINE_KEY_FILE = 'bench-engine-key'

const data = process.argv[process.argv.indexOf('--data') + 1]

if (isMainThread && process.argv.includes('--data') && data !== undefined) {
  const file = join(data, ENGINE_KEY_FILE)
  subscribe('http.client.request.start', (message) => {
    const { request } = message as { readonly request: ClientRequest }
    const key = request.getHeader('authorization')
    // Nothing else that it asks is on this machine: no push, no probes of other services.
    if (request.host !== 'localhost' || typeof key !== 'string' || existsSync(file)) return
    writeFileSync(file, key, { mode: 0o600 })
  })
}
