import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { ApiFailure, assertSecret, readWhole } from './client.ts'
import { type Command, EXIT_OK, textOf } from './command.ts'
import { UsageError } from './usage-error.ts'

interface IngestAnswer {
  readonly accepted: number
  readonly rejected: number
  readonly errors: readonly { readonly line?: number; readonly message: string }[]
}

/** Below the limit on a request, whatever the lines are. */
const BODY_BYTES = 4 * 1024 * 1024

/** Sends lines of a file or of stdin, in requests of some megabytes. */
export const send: Command = {
  usage: '[file] [options]',
  summary: 'Send events: JSON lines, or lines of text, from a file or from stdin.',
  positionalsMax: 1,
  options: { key: { type: 'string' }, text: { type: 'boolean' } },
  help: {
    key: 'The API key of the stream; else SLUICE_KEY. Visible in the list of processes',
    text: 'Each line is the text of an event, not JSON',
  },
  run: async ({ client, values, positionals, env, terminal }) => {
    const key = textOf(values.key) ?? env.SLUICE_KEY
    if (key === undefined) {
      throw new UsageError('set SLUICE_KEY to an API key: sluice keys create <stream>')
    }
    assertSecret('API key', key)
    const [file] = positionals
    const input = file === undefined || file === '-' ? process.stdin : createReadStream(file)
    let accepted = 0
    let rejected = 0
    for await (const body of bodiesOf(input)) {
      const response = await client.send(values.text === true ? 'ingest/text' : 'ingest', {
        method: 'POST',
        headers: {
          'X-API-Key': key,
          'Content-Type': values.text === true ? 'text/plain' : 'application/x-ndjson',
        },
        body,
      })
      const answer = JSON.parse(await readWhole(response)) as IngestAnswer
      accepted += answer.accepted
      rejected += answer.rejected
      for (const { line, message } of answer.errors.slice(0, 5)) {
        terminal.note(`line ${line} of a request: ${message}`)
      }
    }
    process.stdout.write(`${accepted} stored, ${rejected} rejected\n`)
    if (rejected > 0) throw new ApiFailure(`${rejected} events were rejected`)
    return EXIT_OK
  },
}

/** The input in pieces that end at line ends. Throws `UsageError` when it cannot be read. */
async function* bodiesOf(input: Readable): AsyncGenerator<Buffer<ArrayBuffer>> {
  let pieces: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of input) {
      const buffer = Buffer.from(chunk)
      const end = buffer.lastIndexOf(10) + 1
      if (bytes + buffer.length > BODY_BYTES && end > 0) {
        yield Buffer.concat([...pieces, buffer.subarray(0, end)])
        pieces = [buffer.subarray(end)]
        bytes = buffer.length - end
      } else {
        pieces.push(buffer)
        bytes += buffer.length
      }
    }
  } catch (cause) {
    const { code, path, message } = cause as NodeJS.ErrnoException
    throw new UsageError(code === 'ENOENT' ? `there is no file ${path}` : message)
  }
  if (bytes > 0) yield Buffer.concat(pieces)
}
