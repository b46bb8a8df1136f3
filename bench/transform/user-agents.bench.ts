import { parseUserAgent } from '../../workers/transform/user-agent.ts'
import type { MicroBench } from '../bench.ts'
import { OFF, transformBench } from './redaction.bench.ts'

const AGENTS = { ...OFF, parseUserAgents: true }

const uncached: MicroBench = {
  name: 'transform/user-agents-uncached',
  title: 'parsing a user agent, nothing remembered',
  kind: 'json',
  prepare: ({ lines }) => {
    const strings = lines.map((line) => JSON.parse(line).http.user_agent)
    return () => strings.map(parseUserAgent)
  },
}

export const userAgentBenches: readonly MicroBench[] = [
  transformBench('user-agents', 'user agents, remembered', AGENTS),
  uncached,
  transformBench('all-on', 'redaction, user agents and extraction on', {
    ...AGENTS,
    redactSensitive: true,
  }),
]
