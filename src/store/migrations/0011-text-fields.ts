/** Which of a stream's fields are searched word by word: see `model/text-fields.ts`. */
export const sql = `
ALTER TABLE streams ADD COLUMN text_fields text[] NOT NULL DEFAULT ARRAY[
  'message', 'msg', 'body', 'log', 'log._raw', 'text',
  'error.message', 'error.stack_trace', 'exception.message', 'exception.stacktrace',
  'attributes.exception.message', 'attributes.exception.stacktrace'];
`
