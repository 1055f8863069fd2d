import { backup } from './backup/backup.ts'
import { restore } from './backup/restore.ts'
import { client } from './client.ts'
import type { Command } from './command.ts'
import { dbCopy } from './copy/db-copy.ts'
import { filesCopy } from './copy/files-copy.ts'
import { init } from './data/init.ts'
import { migrateCommand } from './data/migrate.ts'
import { dataCommands } from './data-commands.ts'
import { doctor } from './doctor/doctor.ts'
import { health, open, version } from './info.ts'
import { completion } from './manual/completion.ts'
import { man } from './manual/man.ts'
import { serve } from './server/serve.ts'
import { restart } from './service/restart.ts'
import { serviceInstall, serviceUninstall } from './service/service.ts'
import { upgrade } from './service/upgrade.ts'

/** Every command of `homeport`. */
export const commands: Command[] = [
  serve,
  open,
  restart,
  upgrade,
  init,
  migrateCommand,
  backup,
  restore,
  dbCopy,
  filesCopy,
  ...dataCommands,
  serviceInstall,
  serviceUninstall,
  health,
  doctor,
  version,
  client,
  completion,
  man,
]
