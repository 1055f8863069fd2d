import type { Command as Commander } from 'commander'
import { EXIT } from '../../lib/command.ts'
import { BUILD_INFO, VERSION } from '../../version.ts'
import { localCommand } from '../command.ts'

export const man = localCommand({
  name: 'man',
  summary: 'Print the manual page: homeport man > /usr/local/share/man/man1/homeport.1',
  work: async (_loadConfig, _options, _args, program) => ({ page: formatPage(program) }),
  print: ({ page }) => page,
})

function formatPage(program: Commander): string {
  const day = BUILD_INFO?.date?.slice(0, 10) ?? ''
  return [
    `.TH HOMEPORT 1 "${day}" "homeport ${VERSION}"`,
    '.SH NAME',
    `homeport \\- ${escapeRoff(program.description())}`,
    '.SH SYNOPSIS',
    '.B homeport',
    '[\\fIcommand\\fR] [\\fIoption\\fR ...]',
    '.SH DESCRIPTION',
    'A running server executes commands itself.',
    'The configuration is read from environment variables',
    'and from the file .env in the working directory. Commands accept \\fB\\-\\-json\\fR and \\fB\\-\\-yes\\fR.',
    '.SH COMMANDS',
    ...formatSections(program, ''),
    '.SH EXIT STATUS',
    `${EXIT.done} success, ${EXIT.failed} failure, ${EXIT.usage} usage error, ${EXIT.configuration} invalid configuration.`,
  ].join('\n')
}

function formatSections(command: Commander, path: string): string[] {
  const help = command.createHelp()
  return help.visibleCommands(command).flatMap((child) => {
    if (child.commands.length > 0) return formatSections(child, `${path}${child.name()} `)
    if (child.name() === 'help') return []
    const options = help.visibleOptions(child).filter(({ long }) => long !== '--help')
    return [
      `.SS ${escapeRoff(path + help.subcommandTerm(child).replace('[options] ', '').replace(' [options]', ''))}`,
      escapeRoff(child.description()),
      ...options.flatMap(({ flags, description }) => [
        '.TP',
        `.B ${escapeRoff(flags)}`,
        escapeRoff(description),
      ]),
    ]
  })
}

/** Escapes dashes, backslashes, and leading characters that roff would read as requests. */
function escapeRoff(text: string): string {
  return text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^[.']/, '\\&$&')
}
