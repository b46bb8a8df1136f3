/** Text fields by their names, at any depth: see `model/text-fields.ts`. Other settings stay. */
export const sql = `
ALTER TABLE streams ALTER COLUMN text_fields SET DEFAULT ARRAY[
  'message', 'msg', '@m', '@mt', 'text', 'body', 'log', '_raw', 'event', 'short_message',
  'full_message', 'error', 'exception', 'err', 'stack', 'stack_trace', 'stacktrace', 'reason',
  'detail', 'details', 'description', 'title'];
UPDATE streams SET text_fields = DEFAULT WHERE text_fields = ARRAY[
  'message', 'msg', 'body', 'log', 'log._raw', 'text',
  'error.message', 'error.stack_trace', 'exception.message', 'exception.stacktrace',
  'attributes.exception.message', 'attributes.exception.stacktrace'];
`
