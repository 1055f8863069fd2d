import type { Command as Commander } from 'commander'
import { UsageError } from '../../lib/command.ts'
import { localCommand } from '../command.ts'

const SHELLS = { bash, zsh, fish }

/** A command such as `users list`, and the words that may follow it. */
type Entry = { path: string[]; summary: string; words: string[]; command: Commander }

export const completion = localCommand({
  name: 'completion',
  summary: 'Print the completion script for bash, zsh or fish',
  arguments: '<shell>',
  work: async (_loadConfig, _options, [shell = ''], program) => {
    if (!Object.hasOwn(SHELLS, shell))
      throw new UsageError(`The shell must be one of ${Object.keys(SHELLS).join(', ')}.`)
    return { shell, script: SHELLS[shell as keyof typeof SHELLS](listEntries(program, [])) }
  },
  print: ({ script }) => script,
})

function listEntries(command: Commander, path: string[]): Entry[] {
  const nested = listCommands(command).flatMap((inner) =>
    listEntries(inner, [...path, inner.name()]),
  )
  const words = [...listCommands(command).map((inner) => inner.name()), ...listFlags(command)]
  return [{ path, summary: command.description(), words, command }, ...nested]
}

function listCommands(command: Commander): Commander[] {
  return command.createHelp().visibleCommands(command)
}

function listFlags(command: Commander): string[] {
  const options = command.createHelp().visibleOptions(command)
  return options.flatMap(({ long }) => long ?? [])
}

function bash(entries: Entry[]): string {
  const cases = entries.toReversed().map(({ path, words }) => {
    const name = path.join(' ')
    const pattern = path.length === 0 ? '*' : `'${name}'|'${name} '*`
    return `    ${pattern}) words='${words.join(' ')}' ;;`
  })
  return `# homeport completion bash > /etc/bash_completion.d/homeport
_homeport() {
  local word path='' words=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    [[ $word == -* ]] || path+="\${path:+ }$word"
  done
  case "$path" in
${cases.join('\n')}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _homeport homeport`
}

function zsh(entries: Entry[]): string {
  return `autoload -U +X bashcompinit && bashcompinit\n${bash(entries)}`
}

function fish(entries: Entry[]): string {
  const lines = entries.flatMap(({ path, command }) => {
    const inner = listCommands(command)
    const names = inner.map((child) => child.name()).join(' ')
    const seen = path.map((name) => `__fish_seen_subcommand_from ${name}`)
    const unseen = names === '' ? [] : [`not __fish_seen_subcommand_from ${names}`]
    const when = `-n '${[...seen, ...unseen].join('; and ')}'`
    return [
      ...inner.map((child) => `${when} -f -a ${child.name()} -d ${quote(child.description())}`),
      ...command
        .createHelp()
        .visibleOptions(command)
        .flatMap(({ long, description, required }) =>
          long
            ? [`${when} -l ${long.slice(2)}${required ? ' -r' : ''} -d ${quote(description)}`]
            : [],
        ),
    ]
  })
  return lines.map((line) => `complete -c homeport ${line}`).join('\n')
}

function quote(text: string): string {
  return `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`
}
