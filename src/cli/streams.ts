import type { StreamInfo } from './client.ts'
import { type Command, EXIT_OK } from './command.ts'
import type { Overview } from './usage.ts'
import { UsageError } from './usage-error.ts'

/** Lists streams; creates or deletes one. */
export const streams: Command = {
  usage: '[create <name> | delete <name>] [options]',
  summary: 'List streams with what is in them; create or delete one.',
  positionalsMax: 2,
  words: ['create', 'delete'],
  options: { retention: { type: 'string' }, yes: { type: 'boolean' } },
  help: {
    retention: 'How long a new stream keeps events, such as 7d; 30d',
    yes: 'Confirm the deletion',
  },
  run: async ({ client, terminal, values, positionals }) => {
    const [action, name] = positionals
    if (action === 'create' && name !== undefined) {
      const body = { name, ...(values.retention !== undefined && { retention: values.retention }) }
      const stream = await client.json<StreamInfo>('streams', { body })
      if (values.json === true) terminal.json(JSON.stringify(stream))
      else terminal.line(stream.id)
      return EXIT_OK
    }
    if (action === 'delete' && name !== undefined) {
      if (values.yes !== true) throw new UsageError(`this deletes its events too: add --yes`)
      await client.call(`streams/${await client.findStream(name)}`, { method: 'DELETE' })
      return EXIT_OK
    }
    if (action !== undefined) {
      throw new UsageError('streams, streams create <name>, or streams delete <name> --yes')
    }
    const all = await client.listStreams()
    if (values.json === true) {
      for (const stream of all) terminal.json(JSON.stringify(stream))
      return EXIT_OK
    }
    const rows = [['ID', 'NAME', 'EVENTS', 'NEWEST EVENT', 'BEHIND', 'KEPT']]
    const used = await client.listAll<Overview>('usage', 'usage')
    const usages = new Map(used.map((usage) => [usage.stream_id, usage]))
    for (const { id, name: shown, retention } of all) {
      const usage = usages.get(id)
      if (usage === undefined) continue // Deleted meanwhile.
      const behind = `${usage.lag_seconds.toFixed(1)} s`
      const newest = usage.newest_event_at ?? '-'
      rows.push([id, shown, String(usage.events), newest, behind, retention])
    }
    terminal.line(terminal.table(rows))
    return EXIT_OK
  },
}
