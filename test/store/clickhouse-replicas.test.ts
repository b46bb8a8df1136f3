/**
 * Goal: rows are read of replicas that have all there is, in every shard, or not at all.
 * Method: all states of a cluster's servers, against a search by trying.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ClickHouseHost } from '../../src/store/clickhouse-hosts.ts'
import { chooseReplicas } from '../../src/store/clickhouse-replicas.ts'

type State = 'fit' | 'behind' | 'away'

function hostsOf(shards: readonly (readonly State[])[]): ClickHouseHost[] {
  return shards.flatMap((states, shard) => {
    return states.map((state, replica) => {
      const host = new ClickHouseHost(`http://s${shard}r${replica}:1/`, true)
      host.replicaPlace = { shard, replica, replicas: states.length }
      host.isBehind = state === 'behind'
      host.report(state === 'away')
      return host
    })
  })
}

/** All ways in which `n` servers can be. */
function* statesOf(n: number): Generator<State[]> {
  if (n === 0) yield []
  else for (const rest of statesOf(n - 1)) for (const one of STATES) yield [...rest, one]
}
const STATES: readonly State[] = ['fit', 'behind', 'away']

test('in each shard that has one that lacks something, one is asked that has all', () => {
  const counts = { free: 0, chosen: 0, none: 0 }
  for (const a of statesOf(2)) {
    for (const b of statesOf(3)) {
      const shards = [a, b]
      const { settings, behind } = chooseReplicas(hostsOf(shards))
      const concerned = shards.filter((states) => states.includes('behind'))
      const fits = (at: number) => concerned.every((states) => states[at % states.length] === 'fit')
      if (settings === undefined) {
        counts.none++
        assert.ok(![0, 1, 2].some(fits) && /^s\dr\d:1$/.test(behind), JSON.stringify(shards))
      } else if (concerned.length === 0) {
        counts.free++
        assert.deepEqual(settings, {})
      } else {
        counts.chosen++
        assert.ok(fits(Number(settings.load_balancing_first_offset)), JSON.stringify(shards))
        assert.equal(settings.prefer_localhost_replica, 0)
      }
    }
  }
  assert.ok(counts.free > 10 && counts.chosen > 10 && counts.none > 10, JSON.stringify(counts))
})

test('a server whose place is not known cannot be left out', () => {
  const host = new ClickHouseHost('http://new:1/', true)
  host.isBehind = true
  assert.deepEqual(chooseReplicas([host]), { settings: undefined, behind: 'new:1' })
})
