/** Reads the `.cpuprofile` files that `node --cpu-prof` leaves: where each thread spent itself. */
import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { formatTable } from '../table.ts'

const FUNCTIONS_MAX = 25

interface CpuProfile {
  readonly nodes: readonly ProfileNode[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

interface ProfileNode {
  readonly id: number
  readonly callFrame: {
    readonly functionName: string
    readonly url: string
    readonly lineNumber: number
  }
}

export interface FunctionTime {
  readonly name: string
  readonly selfMicros: number
}

/** Self time by function, most first. Idle time is kept: it says how busy the thread was. */
export function sumSelfTimes(profile: CpuProfile): FunctionTime[] {
  const names = new Map(profile.nodes.map((node) => [node.id, nameOf(node)]))
  const micros = new Map<string, number>()
  profile.samples.forEach((id, index) => {
    const name = names.get(id) ?? '(unknown)'
    micros.set(name, (micros.get(name) ?? 0) + (profile.timeDeltas[index] ?? 0))
  })
  return [...micros]
    .map(([name, selfMicros]) => ({ name, selfMicros }))
    .sort((a, b) => b.selfMicros - a.selfMicros)
}

function nameOf({ callFrame }: ProfileNode): string {
  const name = callFrame.functionName || '(anonymous)'
  if (callFrame.url === '') return name
  const place = callFrame.url.replace(/^.*?\/(?:dist|node_modules)\//, '')
  return `${name} ${place}:${callFrame.lineNumber + 1}`
}

/** One table a thread. Files are named `CPU.<date>.<time>.<pid>.<thread>.<number>.cpuprofile`. */
export function formatProfiles(directory: string): string {
  const files = readdirSync(directory).filter((name) => name.endsWith('.cpuprofile'))
  const tables = files.sort().map((file) => {
    const profile: CpuProfile = JSON.parse(readFileSync(join(directory, file), 'utf8'))
    const times = sumSelfTimes(profile)
    const total = times.reduce((sum, { selfMicros }) => sum + selfMicros, 0)
    const [, , , pid, thread] = basename(file).split('.')
    const rows = times
      .slice(0, FUNCTIONS_MAX)
      .map(({ name, selfMicros }) => [
        name,
        (selfMicros / 1_000).toFixed(0),
        `${((100 * selfMicros) / total).toFixed(1)} %`,
      ])
    return `\nprocess ${pid}, thread ${thread}\n${formatTable(['function', 'self ms', ''], rows)}`
  })
  return tables.length === 0 ? `no profiles in ${directory}` : tables.join('\n')
}
