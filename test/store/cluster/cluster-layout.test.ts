/**
 * Goal: servers that are no cluster to work with are refused with a text that says what to do; the
 * first host that answers is asked, and one that hangs or refuses is passed over.
 * Method: the rules alone; servers of HTTP that answer, refuse and hang.
 */
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import { after, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ClickHouse } from '../../../src/store/clickhouse.ts'
import { ClickHouseHost, ClickHouseHosts, splitHosts } from '../../../src/store/clickhouse-hosts.ts'
import { judgeMembers } from '../../../src/store/cluster/cluster-layout.ts'
import { eventually } from '../temporary.ts'

type Member = Parameters<typeof judgeMembers>[0][number]

const member = (at: number, changes: Partial<Member> = {}): Member => ({
  host: new ClickHouseHost(`http://u:secret@ch${at}:8123/`, false),
  shard: `s${at}`,
  replica: 'r1',
  version: '26.7.2.1',
  shards: 2,
  servers: 2,
  ownShard: at,
  ownReplica: 1,
  replicas: 1,
  ...changes,
})

const LAB = {
  cluster: 'lab',
  hosts: ClickHouseHosts.of([member(1).host, member(2).host]),
}

const MISTAKES: readonly (readonly [what: string, members: Member[], text: RegExp])[] = [
  [
    'equal macros',
    [member(1), member(2, { shard: 's1', ownShard: 1 })],
    /ch1:8123 and ch2:8123 have the same/,
  ],
  ['no macros', [member(1), member(2, { shard: '' })], /ch2:8123 has no macros shard and replica/],
  [
    'an old server',
    [member(1), member(2, { version: '26.6.9.9' })],
    /ch2:8123 is of version 26\.6/,
  ],
  ['no such cluster', [member(1, { shards: 0 })], /ch1:8123 knows no cluster lab/],
  ['a shard of which none answers', [member(1)], /has 2 shard\(s\), and servers of 1 answer/],
  ['other definitions', [member(1), member(2, { shards: 1 })], /have other definitions of lab/],
  ['not in it', [member(1), member(2, { ownShard: 0 })], /ch2:8123 is not itself in its/],
  [
    'one shard, two macros',
    [member(1), member(2, { ownShard: 1 })],
    /servers of shard 1 of lab have other macros/,
  ],
  [
    'two shards, one macro',
    [member(1), member(2, { shard: 's1', replica: 'r2' })],
    /servers of different shards of lab have the same/,
  ],
  ['a server that is not named', [member(1, { servers: 3 })], /lab has 3 servers: name all/],
]

for (const [what, members, text] of MISTAKES) {
  test(`refused: ${what}`, () => {
    assert.throws(
      () => judgeMembers(members, LAB),
      (error: Error) => text.test(error.message) && !error.message.includes('secret'),
    )
  })
}

test('two shards, and versions from 26.7 on', () => {
  judgeMembers([member(1), member(2, { version: '27.1.1.1' })], LAB)
  const [first, second] = [{ shards: 1 }, { shard: 's1', replica: 'r2', shards: 1, ownShard: 1 }]
  judgeMembers([member(1, first), member(2, second)], LAB)
})

test('a URL of several hosts', () => {
  assert.deepEqual(splitHosts('http://u:p%40@a:1,b:2/db?x=1'), [
    'http://u:p%40@a:1/db?x=1',
    'http://u:p%40@b:2/db?x=1',
  ])
  assert.deepEqual(splitHosts('https://[::1]:1,c/'), ['https://[::1]:1/', 'https://c/'])
  assert.deepEqual(splitHosts('http://u:p@a:1/db'), ['http://u:p@a:1/db'])
})

interface Fake {
  readonly url: string
  readonly server: Server
  asked: number
  isHanging: boolean
}

const fakes: Fake[] = []

async function openFake(): Promise<Fake> {
  const server = createServer((request, response) => {
    request.resume()
    if (fake.isHanging) return
    if (request.url !== '/ping') fake.asked++
    response.end(request.url === '/ping' ? 'Ok.\n' : '{"data":[{"one":1}]}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  const fake: Fake = { url: `http://127.0.0.1:${port}/`, server, asked: 0, isHanging: false }
  fakes.push(fake)
  return fake
}

function end({ server }: Fake): void {
  server.close()
  server.closeAllConnections()
}

after(() => fakes.forEach(end))

test('the first host that answers is asked; one that hangs ends what waits for it', async (t) => {
  const [a, b] = [await openFake(), await openFake()]
  const hosts = new ClickHouseHosts([a!.url, b!.url], { pingEveryMs: 20, pingMsMax: 700 })
  const client = new ClickHouse({ url: a!.url, hosts, cluster: 'lab' })
  t.after(async () => {
    hosts.stop()
    await client.close()
  })
  await client.ping()
  assert.deepEqual([a!.asked, b!.asked], [1, 0])
  a!.isHanging = true
  const begun = performance.now()
  await client.ping() // Asked of the first, and then of the second.
  assert.ok(performance.now() - begun < 5_000)
  assert.equal(b!.asked, 1)
  a!.isHanging = false
  await eventually('the first is back', async () => hosts.first === hosts.hosts[0])
  await client.ping()
  assert.deepEqual([a!.asked, b!.asked], [2, 1])
  end(a!)
  await sleep(1)
  await client.ping()
  assert.equal(b!.asked, 2)
  end(b!)
  await assert.rejects(client.ping(), { kind: 'unavailable' })
})
