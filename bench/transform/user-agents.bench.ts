import { USER_AGENT_BYTES_MAX } from '../../src/limits.ts'
import { heldBytes } from '../../workers/kernel/arena-copy.ts'
import { parseUserAgent } from '../../workers/transform/agents/parse-user-agent.ts'
import { UserAgents } from '../../workers/transform/agents/user-agent.ts'
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

/** Strings of what the slowest expressions look for, no two alike. */
function hostileStrings(count: number): Buffer[] {
  return Array.from({ length: count }, (_, i) =>
    heldBytes(Buffer.from(`Android ${i}; ${'droid '.repeat(100)}`.slice(0, USER_AGENT_BYTES_MAX))),
  )
}

const hostile: MicroBench = {
  name: 'transform/user-agents-hostile',
  title: 'a hostile user agent in each, budget full at first',
  kind: 'json',
  prepare: ({ lines }) => {
    const strings = hostileStrings(lines.length)
    return () => {
      const agents = new UserAgents()
      agents.begin(1, 0)
      for (const bytes of strings) agents.lookUp(bytes, 0, bytes.length)
      return agents.misses
    }
  },
}

const hostileUnbounded: MicroBench = {
  name: 'transform/user-agents-hostile-unbounded',
  title: 'the same without a budget',
  kind: 'json',
  prepare: ({ lines }) => {
    const strings = hostileStrings(lines.length).map(String)
    return () => strings.map(parseUserAgent)
  },
}

export const userAgentBenches: readonly MicroBench[] = [
  transformBench('user-agents', 'user agents, remembered', AGENTS),
  uncached,
  hostile,
  hostileUnbounded,
  transformBench('all-on', 'redaction, user agents and extraction on', {
    ...AGENTS,
    redactSensitive: true,
  }),
]
