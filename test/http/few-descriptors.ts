/** A server in a process of its own, whose descriptors a test limits; see `descriptors.test.ts`. */
import { readFile } from 'node:fs/promises'
import { DescriptorGuard } from '../../src/http/descriptors.ts'
import type { Route } from '../../src/http/exchange.ts'
import { jsonReply } from '../../src/http/problem.ts'
import { ENGINES, startServer } from './raw-client.ts'

const told: string[] = []
let guard: DescriptorGuard | undefined

const routes: Route[] = [
  {
    method: 'GET',
    pattern: '/state',
    handler: async (exchange) => {
      const { user, system } = process.cpuUsage()
      const text = await readFile('/proc/self/limits', 'utf8') // Takes a descriptor.
      const { pauses, isShort } = guard!
      const state = { cpuMs: (user + system) / 1_000, told, pauses, isShort, read: text.length }
      exchange.reply(jsonReply(200, { ...state, connections: server.connections ?? null }))
    },
  },
]

const { server, port } = await startServer({ routes, engine: ENGINES[Number(process.argv[2])]! })
guard = await DescriptorGuard.start(server, {
  onShort: ({ limit, reserved }) => void told.push(`short of ${limit}, reserved ${reserved}`),
  onTaken: (reason) => void told.push(`taken: ${reason}`),
  onAvailable: () => void told.push('room'),
})
process.stdout.write(`${port}\n`)
