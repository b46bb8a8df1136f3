/**
 * Completion for shells, made of the same table as the help. Names of streams are asked of the
 * service when they are wanted: `sluice completion streams`.
 */
import { ApiFailure } from './client.ts'
import { type Command, EXIT_OK, type Options } from './command.ts'
import { OWN_MACHINE } from './own-machine.ts'
import { UsageError } from './usage-error.ts'

export const SHELLS = ['bash', 'zsh', 'fish'] as const
/** For the scripts: the names of streams, a line each. */
const STREAM_NAMES = 'streams'
/** Shells get no more. */
const NAMES_MAX = 1_000

/** A command with all its options, as help shows them. */
export interface Completed {
  readonly name: string
  readonly command: Command
  readonly options: Options
  readonly choices: Readonly<Record<string, readonly string[]>>
}

/** `all` is told when all commands are known, this one among them. */
export function completionOf(all: () => readonly Completed[]): Command {
  return {
    usage: SHELLS.join(' | '),
    summary: 'Print what completes command lines in a shell: eval "$(sluice completion bash)".',
    positionalsMax: 1,
    words: SHELLS,
    options: {},
    help: {},
    run: async ({ client, terminal, positionals }) => {
      const [shell] = positionals
      if (shell === STREAM_NAMES) {
        try {
          const names = (await client.listStreams()).map(({ name }) => name)
          for (const name of names.slice(0, NAMES_MAX)) terminal.line(name)
        } catch (cause) {
          // A shell has no place for it; whoever runs the command is told.
          if (!(cause instanceof ApiFailure || cause instanceof UsageError)) throw cause
        }
        return EXIT_OK
      }
      const write = SCRIPTS[shell as keyof typeof SCRIPTS] as typeof bash | undefined
      if (write === undefined) throw new UsageError(`completion takes ${SHELLS.join(', ')}`)
      terminal.line(write(all()))
      return EXIT_OK
    },
  }
}

const SCRIPTS = { bash, zsh, fish } as const satisfies Record<(typeof SHELLS)[number], unknown>

function flagsOf({ options }: Completed): string[] {
  return Object.entries(options).flatMap(([name, { short }]) => {
    return short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`]
  })
}

/** The flags that take a word behind them. */
function flagsWithValue({ options }: Completed): string[] {
  return Object.entries(options).flatMap(([name, { type, short }]) => {
    if (type !== 'string') return []
    return short === undefined ? [`--${name}`] : [`--${name}`, `-${short}`]
  })
}

/** Words of the table have nothing in them that shells know. */
function bash(all: readonly Completed[]): string {
  const cases = all.map((one) => {
    const { name, command, choices } = one
    const chosen = Object.entries(choices).map(([option, words]) => {
      return `        --${option}) values='${words.join(' ')}' ;;`
    })
    return [
      `    ${name})`,
      `      flags='${flagsOf(one).join(' ')}'`,
      `      takes=' ${flagsWithValue(one).join(' ')} '`,
      `      words='${(command.words ?? []).join(' ')}'`,
      `      streams='${command.takesStream === true ? 'yes' : ''}'`,
      ...(chosen.length > 0 ? ['      case "$previous" in', ...chosen, '      esac'] : []),
      '      ;;',
    ].join('\n')
  })
  const own = Object.keys(OWN_MACHINE)
  const first = [...all.map(({ name }) => name), ...own, '--help', '--version'].join(' ')
  return `# bash completion of sluice: eval "$(sluice completion bash)"
_sluice() {
  local word="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local command="\${COMP_WORDS[1]}" flags='' takes='' words='' streams='' values='' name at
  COMPREPLY=()
  # --color=al comes as three words.
  if [ "$word" = = ]; then
    word=''
  elif [ "$previous" = = ]; then
    previous="\${COMP_WORDS[COMP_CWORD-2]}"
  fi
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${first}' -- "$word"))
    return
  fi
  case "$command" in
${cases.join('\n')}
  esac
  if [ -n "$values" ]; then
    COMPREPLY=($(compgen -W "$values" -- "$word"))
  elif [[ "$takes" == *" $previous "* ]]; then
    return
  elif [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "$flags" -- "$word"))
  else
    # A stream is the first word, or the one behind what is done.
    for ((at = 2; at < COMP_CWORD; at++)); do
      name="\${COMP_WORDS[at]}"
      [[ " $words " == *" $name "* ]] || [[ "$takes" == *" \${COMP_WORDS[at-1]} "* ]] ||
        [[ "$name" == -* ]] || streams=''
    done
    [ "$COMP_CWORD" -eq 2 ] && COMPREPLY=($(compgen -W "$words" -- "$word"))
    [ -z "$streams" ] || while IFS= read -r name; do
      [[ "$name" == "\${word//\\\\/}"* ]] && COMPREPLY+=("$(printf '%q' "$name")")
    done < <("\${COMP_WORDS[0]}" completion ${STREAM_NAMES} 2>/dev/null)
  fi
}
complete -o default -F _sluice sluice`
}

/** For zsh and fish: a text in single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}

function zsh(all: readonly Completed[]): string {
  const cases = all.map((one) => {
    const { name, command, choices, options } = one
    const specs = Object.entries(options).flatMap(([option, { type, short }]) => {
      const words = choices[option]
      const value = words === undefined ? ':value: ' : `:value:(${words.join(' ')})`
      const flags = short === undefined ? [`--${option}`] : [`--${option}`, `-${short}`]
      return flags.map((flag) => quoted(`${flag}${type === 'string' ? value : ''}`))
    })
    return `    ${name}) words_='${(command.words ?? []).join(' ')}'
      streams_=${command.takesStream === true ? 1 : 0}
      specs=(${specs.join(' ')}) ;;`
  })
  const own = Object.entries(OWN_MACHINE)
  const named = [...all.map(({ name, command }) => [name, command.summary] as const), ...own]
    .map(([name, text]) => quoted(`${name}:${text}`))
    .join(' ')
  return `#compdef sluice
# zsh completion of sluice: eval "$(sluice completion zsh)", behind compinit
_sluice_first() {
  local -a names
  [ -n "$words_" ] && compadd -- \${=words_}
  if (( streams_ )); then
    names=("\${(@f)$(sluice completion ${STREAM_NAMES} 2>/dev/null)}")
    compadd -- \${names:#}
  fi
}
_sluice() {
  local words_ streams_ curcontext="$curcontext"
  local -a specs commands
  commands=(${named})
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command="\${words[2]}"
  case "$command" in
${cases.join('\n')}
    *) _default; return ;;
  esac
  shift words
  (( CURRENT-- ))
  _arguments $specs '1:first:_sluice_first' '*::rest:_sluice_first'
}
compdef _sluice sluice`
}

function fish(all: readonly Completed[]): string {
  const lines = all.flatMap((one) => {
    const { name, command, choices, options } = one
    const begin = `complete -c sluice -n '__fish_seen_subcommand_from ${name}'`
    const flags = Object.entries(options).map(([option, { type, short }]) => {
      const words = choices[option]
      const letter = short === undefined ? '' : ` -s ${short}`
      const value = type === 'string' ? ` -x${words ? ` -a ${quoted(words.join(' '))}` : ''}` : ''
      return `${begin} -l ${option}${letter}${value}`
    })
    const { words = [], takesStream = false } = command
    return [
      `complete -c sluice -n __fish_use_subcommand -a ${name} -d ${quoted(command.summary)}`,
      ...flags,
      ...(words.length > 0 ? [`${begin} -a ${quoted(words.join(' '))}`] : []),
      ...(takesStream
        ? [`${begin} -a '(sluice completion ${STREAM_NAMES} 2>/dev/null)' -d stream`]
        : []),
    ]
  })
  const files = Object.keys(OWN_MACHINE).join(' ')
  return [
    '# fish completion of sluice: sluice completion fish | source',
    `complete -c sluice -n 'not __fish_seen_subcommand_from send ${files}' -f`,
    ...Object.entries(OWN_MACHINE).map(([name, text]) => {
      return `complete -c sluice -n __fish_use_subcommand -a ${name} -d ${quoted(text)}`
    }),
    ...lines,
  ].join('\n')
}
