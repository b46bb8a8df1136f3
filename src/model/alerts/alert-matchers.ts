/** Labels of alerts, and matchers of silences as Alertmanager writes them. */

/** Of a label, as the API takes it. */
export interface AlertMatcher {
  readonly name: string
  readonly value: string
  readonly is_regex?: boolean
  readonly is_equal?: boolean
}

/** Of a field that a rule is grouped by: names of labels have letters, digits and `_`. */
export function labelName(path: string): string {
  const name = path.replace(/[^a-zA-Z0-9_]/g, '_')
  return /^[0-9]/.test(name) ? `_${name}` : name
}

/** Of a group's value, which is JSON: numbers keep their digits. */
export function labelValue(json: string): string {
  return json.startsWith('"') ? (JSON.parse(json) as string) : json
}

/** `service=cart`, `service=~ca.*`, `service!=cart`, `service!~ca.*`. */
export function matcherText({ name, value, ...is }: AlertMatcher): string {
  const equal = is.is_regex === true ? '=~' : '='
  const other = is.is_regex === true ? '!~' : '!='
  return `${name}${is.is_equal === false ? other : equal}${value}`
}

/** Undefined for what is no matcher; blanks belong to the value. */
export function tryReadMatcher(text: string): AlertMatcher | undefined {
  const [, name, sign = '', value = ''] = /^\s*([A-Za-z_]\w*)\s*(!~|=~|!=|=)(.*)$/s.exec(text) ?? []
  if (name === undefined) return undefined
  return {
    ...{ name, value },
    ...(sign.endsWith('~') && { is_regex: true }),
    ...(sign.startsWith('!') && { is_equal: false }),
  }
}
