/**
 * The CPU ledger: user and system time of every process of a service, short-lived ones included.
 *
 * The kernel adds a process' times to its parent when the parent waits for it, so the sum of `own`
 * and `reaped` over the living counts each process once, however short it lived. The one subtle
 * case is a process whose parent is not ours (an orphan given to init): its times would vanish
 * with it, so what was last seen of it is kept.
 */
import type { ProcessStat } from './procfs.ts'

export const ROLES = ['node', 'postgres', 'clickhouse', 'other'] as const
export type Role = (typeof ROLES)[number]
export type CpuMicros = Readonly<Record<Role, number>>

interface Entry {
  readonly role: Role
  readonly stat: ProcessStat
}

export class CpuLedger {
  #living = new Map<string, Entry>()
  readonly #lost: Record<Role, number> = { node: 0, postgres: 0, clickhouse: 0, other: 0 }

  /** Takes one look at the members of the service; `roleOf` is asked once a process. */
  update(members: readonly ProcessStat[], roleOf: (stat: ProcessStat) => Role): void {
    const living = new Map<string, Entry>()
    for (const stat of members) {
      const key = keyOf(stat)
      living.set(key, { role: this.#living.get(key)?.role ?? roleOf(stat), stat })
    }
    const livingPids = new Set(members.map(({ pid }) => pid))
    for (const [key, { role, stat }] of this.#living) {
      // A living parent has taken the times over; nobody has when the parent is not ours.
      if (living.has(key) || livingPids.has(stat.ppid)) continue
      this.#lost[role] += stat.ownMicros + stat.reapedMicros
    }
    this.#living = living
  }

  totals(): CpuMicros {
    const totals = { ...this.#lost }
    for (const { role, stat } of this.#living.values()) {
      totals[role] += stat.ownMicros + stat.reapedMicros
    }
    return totals
  }
}

function keyOf({ pid, startTicks }: ProcessStat): string {
  return `${pid}:${startTicks}`
}

export function subtractCpu(end: CpuMicros, start: CpuMicros): CpuMicros {
  return {
    node: end.node - start.node,
    postgres: end.postgres - start.postgres,
    clickhouse: end.clickhouse - start.clickhouse,
    other: end.other - start.other,
  }
}

export function totalCpu(cpu: CpuMicros): number {
  return ROLES.reduce((sum, role) => sum + cpu[role], 0)
}

/** The processes below `rootPids`, and those that `isMember` claims, with everything below them. */
export function selectMembers(
  all: readonly ProcessStat[],
  rootPids: readonly number[],
  isMember: (stat: ProcessStat) => boolean,
): ProcessStat[] {
  const children = new Map<number, ProcessStat[]>()
  for (const stat of all) {
    const siblings = children.get(stat.ppid)
    if (siblings === undefined) children.set(stat.ppid, [stat])
    else siblings.push(stat)
  }
  const pending = all.filter((stat) => rootPids.includes(stat.pid) || isMember(stat))
  const members = new Map<number, ProcessStat>()
  for (let stat = pending.pop(); stat !== undefined; stat = pending.pop()) {
    if (members.has(stat.pid)) continue
    members.set(stat.pid, stat)
    pending.push(...(children.get(stat.pid) ?? []))
  }
  return [...members.values()]
}
