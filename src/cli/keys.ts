import { type Command, EXIT_OK, textOf } from './command.ts'
import { UsageError } from './usage-error.ts'

interface Key {
  readonly id: string
  readonly name: string
  readonly prefix: string
  readonly last_used_at: string | null
  readonly revoked_at: string | null
}

/** Lists the API keys of a stream; creates or revokes one. */
export const keys: Command = {
  usage: '<stream> | create <stream> | revoke <stream> <key id>',
  summary: 'List the API keys of a stream; create one (it is printed once), or revoke one.',
  positionalsMax: 3,
  takesStream: true,
  words: ['create', 'revoke'],
  options: { name: { type: 'string' } },
  help: { name: 'The name of the new key' },
  run: async ({ client, terminal, values, positionals }) => {
    const [first, second, third] = positionals
    if (first === 'create') {
      const path = `streams/${await client.findStream(second)}/keys`
      const name = textOf(values.name)
      const { key } = await client.json<{ readonly key: string }>(path, {
        body: name === undefined ? {} : { name },
      })
      process.stdout.write(`${key}\n`)
      return EXIT_OK
    }
    if (first === 'revoke') {
      if (third === undefined) throw new UsageError('keys revoke <stream> <key id>')
      const path = `streams/${await client.findStream(second)}/keys/${encodeURIComponent(third)}`
      await client.call(path, { method: 'DELETE' })
      return EXIT_OK
    }
    const streamId = await client.findStream(first)
    const { keys: all } = await client.json<{ readonly keys: readonly Key[] }>(
      `streams/${streamId}/keys`,
    )
    if (values.json === true) {
      for (const key of all) terminal.json(JSON.stringify(key))
      return EXIT_OK
    }
    const rows = all.map(({ id, name, prefix, last_used_at: used, revoked_at: revoked }) => {
      return [id, name || '-', `lax_${prefix}`, used ?? 'never', revoked ?? '-']
    })
    terminal.line(terminal.table([['ID', 'NAME', 'KEY', 'USED', 'REVOKED'], ...rows]))
    return EXIT_OK
  },
}
