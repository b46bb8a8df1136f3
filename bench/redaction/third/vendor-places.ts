/**
 * Where a vendor's token stands without a name beside it that would give it away, so that only its
 * own shape can.
 */
export interface VendorPlace {
  readonly name: string
  readonly event: (token: string) => object
  /** Text beside the token that has to stay. */
  readonly keeps?: readonly string[]
}

export const VENDOR_PLACES: readonly VendorPlace[] = [
  { name: 'a value', event: (token) => ({ level: 'debug', labels: { upstream: token } }) },
  {
    name: 'a sentence',
    event: (token) => ({ level: 'info', message: `Connecting to upstream with ${token} now` }),
  },
  {
    name: 'quoted in an error',
    event: (token) => ({
      severity: 'ERROR',
      text: `remote answered 401: "${token}" is not valid for this project`,
    }),
  },
  {
    name: 'single quotes and a comma',
    event: (token) => ({ textPayload: `resolved('${token}', region='eu-west-1') in 12 ms` }),
  },
  {
    name: 'logfmt',
    event: (token) => ({ msg: `ts=2024-09-14T10:11:12Z lvl=debug via=${token} took=13ms` }),
  },
  {
    name: 'an argument',
    event: (token) => ({ exe: '/usr/bin/sync', argv: ['sync', '--from', token, '--dry-run'] }),
  },
  {
    name: 'a line of a body',
    event: (token) => ({ log: `loading .env\n  UPSTREAM=${token}\n  MODE=fast\ndone\n` }),
  },
  {
    name: 'JSON in a string',
    event: (token) => ({
      stream: 'stdout',
      message: JSON.stringify({ at: 'boot', attempt: 3, upstream: token, region: 'eu-west-1' }),
    }),
    keeps: ['\\"attempt\\":3', '\\"region\\":\\"eu-west-1\\"'],
  },
]
