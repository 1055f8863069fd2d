import { useState } from 'preact/hooks'
import { encodeSegment } from '../../lib/path-segment.ts'
import { download, sendLong } from '../api.ts'
import { bytes } from '../format.ts'
import type { Backups, Me } from '../types.ts'
import { say } from '../ui/messages.tsx'
import { Act, Ago, At, Empty, Title } from '../ui/parts.tsx'
import { Loaded, useRemote } from '../ui/remote.tsx'

/** Backups: made, verified and taken home. */
export function BackupsScreen({ me }: { me: Me }) {
  const backups = useRemote<Backups>('backups')
  const [written, setWritten] = useState<number | null>(null)
  const make = async () => {
    setWritten(0)
    try {
      const tell = (progress: { bytes: number }) => setWritten(progress.bytes)
      const { name } = await sendLong<{ bytes: number }, { name: string }>('backups', {}, tell)
      say(`${name} is written, read again and good.`)
    } finally {
      setWritten(null)
      await backups.reload()
    }
  }
  const verify = (name: string) => async () => {
    await sendLong(`backups/${encodeSegment(name)}/verify`, {}, () => {})
    await backups.reload()
  }
  const mayChange = me.role !== 'reader'
  return (
    <>
      <Title
        actions={
          mayChange && (
            <Act kind="main" act={make}>
              Make a backup now
            </Act>
          )
        }
      >
        Backups
      </Title>
      {written !== null && (
        <p role="status">{written === 0 ? 'It begins.' : `${bytes(written)} are written.`}</p>
      )}
      <Loaded from={backups}>
        {(data) => (
          <>
            <p class="soft">
              {data.next ? (
                <>
                  The next one is made by itself: <At at={data.next} />.
                </>
              ) : (
                'No automatic backups: set BACKUP_SCHEDULE.'
              )}{' '}
              {data.isEncrypted ? 'They are encrypted.' : 'They are not encrypted: set BACKUP_KEY.'}{' '}
              To restore one, stop the server and run <code>homeport restore</code>.
            </p>
            {data.backups.length === 0 && <Empty>There is no backup yet.</Empty>}
            {data.backups.length > 0 && (
              <ul class="list">
                {data.backups.map((backup) => (
                  <li key={backup.name}>
                    <span class="mono">{backup.name}</span>
                    <span class="soft">
                      {bytes(backup.bytes)}, <Ago at={backup.at} />, verified{' '}
                      <Ago at={backup.verifiedAt} />
                    </span>
                    {mayChange && (
                      <span class="actions">
                        <Act act={verify(backup.name)} done="The backup is good.">
                          Verify again
                        </Act>
                        <Act act={() => download(`backups/${encodeSegment(backup.name)}/download`)}>
                          Download
                        </Act>
                      </span>
                    )}
                  </li>
                ))}
              </ul>
            )}
          </>
        )}
      </Loaded>
    </>
  )
}
