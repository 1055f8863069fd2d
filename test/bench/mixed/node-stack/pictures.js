import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import sharp from 'sharp'
import { createLimiter } from './limiter.js'

/** The same as Homeport's for `compression=true&targetType=webp`. */
const LONG_SIDE = 2_560
const QUALITY = 80
const EFFORT = 1
const PIXEL_LIMIT = 64_000_000

sharp.cache(false)
sharp.concurrency(1)

/** Converts images and stores them in `folder`, one per core at once. */
export async function createPictures(db, folder) {
  await mkdir(folder, { recursive: true })
  const limited = createLimiter(2)
  const insert = db.prepare('INSERT INTO pictures VALUES (?, ?, ?, ?, ?, ?)')
  const find = db.prepare('SELECT key, size FROM pictures WHERE key = ?')
  return { store, read }

  /** Resolves to the key of the WebP made from `bytes`, once file and row survive a power cut. */
  async function store(userId, bytes) {
    const key = `${randomBytes(16).toString('hex')}.webp`
    const path = join(folder, key)
    const temporary = `${path}.part`
    const { size, width, height } = await limited(() =>
      sharp(bytes, { limitInputPixels: PIXEL_LIMIT, failOn: 'error' })
        .autoOrient()
        .resize({ width: LONG_SIDE, height: LONG_SIDE, fit: 'inside', withoutEnlargement: true })
        .toColourspace('srgb')
        .webp({ quality: QUALITY, effort: EFFORT })
        .toFile(temporary),
    )
    await sync(temporary)
    await rename(temporary, path)
    await sync(folder)
    insert.run(key, userId, size, width, height, Date.now())
    return key
  }

  function read(key) {
    const row = find.get(key)
    return row ? { size: row.size, stream: createReadStream(join(folder, row.key)) } : null
  }
}

async function sync(path) {
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
