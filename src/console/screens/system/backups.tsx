import { useState } from 'preact/hooks'
import { encodeSegment } from '../../../lib/text/path-segment.ts'
import type { Backups as BackupsService } from '../../../operations/console/backups.ts'
import { download, type ReplyOf } from '../../api.ts'
import { commandLine, perform } from '../../declared.ts'
import { bytes } from '../../format.ts'
import { canEdit, me } from '../../operator.ts'
import { Action, Badge, CopyLine, Time, TimeAgo, Title } from '../../ui/parts.tsx'
import { Loaded, useRemote } from '../../ui/remote.tsx'
import { asTimeAgo, ListBar, Table } from '../../ui/table.tsx'

type Backups = ReplyOf<BackupsService['list']>

export function Screen() {
  const backups = useRemote<Backups>('backups')
  const [written, setWritten] = useState<number | null>(null)
  const backUp = async () => {
    setWritten(0)
    try {
      const onProgress = (progress: { bytes: number }) => setWritten(progress.bytes)
      const { name } = await perform('backups', {}, { onProgress })
      return `${name} written and verified.`
    } finally {
      setWritten(null)
      await backups.reload()
    }
  }
  const verify = async (name: string) => {
    try {
      await perform('backups/:name/verify', { name }, { onProgress: () => {} })
      return `${name} is intact.`
    } finally {
      await backups.reload()
    }
  }
  const backUpButton = (
    <Action kind="primary" run={backUp}>
      Back up now
    </Action>
  )
  return (
    <>
      <Title actions={canEdit.value && backUpButton}>Backups</Title>
      {written !== null && (
        <p role="status">{written === 0 ? 'Backing up…' : `${bytes(written)} written`}</p>
      )}
      <Loaded from={backups}>
        {(data) => (
          <>
            <p class="soft">
              {data.next ? (
                <>
                  Next automatic backup: <Time at={data.next} />.
                </>
              ) : (
                'Set BACKUP_SCHEDULE for automatic backups.'
              )}{' '}
              {data.isEncrypted ? 'Backups are encrypted.' : 'Set BACKUP_KEY to encrypt backups.'}{' '}
              {data.backups.some(({ canVerify }) => !canVerify) && (
                <>
                  This server cannot decrypt some of them: run{' '}
                  <code>{commandLine('restore --verify')}</code> on a machine that has their key.{' '}
                </>
              )}
              They are stored {data.isOnServer && 'on this server, '}in{' '}
              <code>{data.folder ?? 'BACKUP_DIR'}</code>
              {data.isOnServer && ': keep copies on another machine'}. To restore one, stop the
              server and run <code>{commandLine('restore')}</code>.
            </p>
            <ListBar noun="backup" total={data.backups.length} csv="backups" />
            <Table
              caption="Backups"
              rows={data.backups}
              keyOf={({ name }) => name}
              order="-made"
              empty={<NoBackups />}
              detail={({ problem }) => problem && <small class="bad">{problem}</small>}
              columns={[
                { name: 'Name', cell: ({ name }) => <span class="mono">{name}</span> },
                {
                  name: 'Size',
                  onPhone: 'aside',
                  kind: 'number',
                  sort: '-size',
                  field: 'bytes',
                  format: bytes,
                },
                { name: 'Created', sort: '-made', field: 'at', format: asTimeAgo },
                {
                  name: 'Verified',
                  sort: '-verified',
                  value: ({ verifiedAt }) => verifiedAt,
                  cell: ({ verifiedAt, problem }) =>
                    problem === null ? (
                      <TimeAgo at={verifiedAt} />
                    ) : (
                      <Badge tone="bad">failed</Badge>
                    ),
                },
                canEdit.value && {
                  name: 'Actions',
                  kind: 'actions',
                  cell: ({ name, canVerify }) => (
                    <>
                      {canVerify && <Action run={() => verify(name)}>Verify</Action>}
                      {me.value?.role === 'owner' && (
                        <Action run={() => download(`backups/${encodeSegment(name)}/download`)}>
                          Download
                        </Action>
                      )}
                    </>
                  ),
                },
              ]}
            />
          </>
        )}
      </Loaded>
    </>
  )
}

function NoBackups() {
  return (
    <>
      <p>
        No backups yet. A backup contains the database, the files and the secrets, so you can also
        move to another machine with it. Create one now, and one every night with the setting:
      </p>
      <CopyLine name="command" text={commandLine('backup')} />
      <CopyLine name="setting" text="BACKUP_SCHEDULE=15 2 * * *" />
    </>
  )
}
