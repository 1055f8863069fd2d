import { readFile, stat, writeFile } from 'node:fs/promises'
import type { Metadata, Sharp } from 'sharp'
import { type ColourSpace, convertToSrgb, readPngSpace, readProfileSpace } from './colour-space.ts'
import { type ImageFormat, removeMetadata } from './containers.ts'
import { type DecodedHeic, decodeHeic } from './heic.ts'

/** Paths are absolute; `output` does not exist yet. */
export type ImageJob = {
  input: string
  output: string
  format: ImageFormat
  /** 1 to 100. A PNG below 90 gets a palette, otherwise it is lossless. */
  quality: number
  /** Whether an image of the same format is kept, without its metadata, if that is smaller than the result. */
  isKeptIfSmaller?: boolean
} & (
  | { /** The long side of the result has at most this many pixels. */ longSide: number }
  | { /** The result has at most this width. */ width: number }
)

export type ImageResult =
  | { kind: 'made'; size: number; width: number; height: number }
  | { kind: 'unreadable' }
  | { kind: 'no_space' }
  | { kind: 'too_large' }
  | { kind: 'result_too_large' }
  | { kind: 'too_slow' }

const MAX_PIXELS = 64_000_000
/** A single long row costs as much time as a large image, and more memory. */
const MAX_SIDE = 16_384
const LARGE_PIXELS = 24_000_000
/** An image that is already compressed is re-encoded only if that saves a tenth. */
const WORTHWHILE_RATIO = 0.9
/** Shorter than the limit after which the process is killed. */
const TIMEOUT_SECONDS = 9
const LOSSLESS_QUALITY = 90
/** From 0 to 6: a photograph takes 24 ms instead of the default's 62, at the same size and 0.3 dB less quality. */
const WEBP_EFFORT = 1
/** From 1 to 10: 4 megapixels of large gradients take 1.5 s instead of 11 with the default 7, and 1/6 more bytes. */
const PALETTE_EFFORT = 1

/** Loads sharp. Runs only in the image worker. */
export async function loadImaging(): Promise<(job: ImageJob) => Promise<ImageResult>> {
  const { default: sharp } = await import('sharp')
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({
    operation: ['VipsForeignLoadJpegFile', 'VipsForeignLoadPngFile', 'VipsForeignLoadWebpFile'],
  })
  sharp.cache(false)
  sharp.concurrency(1)
  return makeImage

  async function makeImage(job: ImageJob): Promise<ImageResult> {
    try {
      using heic = await openHeic(job.input)
      const metadata = await open(heic ?? job.input).metadata()
      const { width, height, hasProfile } = metadata
      if (isTooLarge(width, height)) return { kind: 'too_large' }
      const space = await spaceToConvert(job.input, metadata)
      const upright = open(heic ?? job.input, space !== null)
        .timeout({ seconds: TIMEOUT_SECONDS })
        .autoOrient()
        .resize({ ...toBox(job), fit: 'inside', withoutEnlargement: true })
        .toColourspace('srgb')
      // sharp converts 16-bit images with a profile to Display P3, and would not convert them back.
      if (metadata.space === 'rgb16' && hasProfile && space === null)
        upright.withIccProfile('srgb', { attach: false })
      const image = space ? await convert(upright, space) : upright
      // Optimizing the coding of a large JPEG takes as much memory as its pixels, which may already be in memory.
      const isInMemory = heic !== null || space !== null
      const optimizeCoding = !isInMemory || width * height < LARGE_PIXELS
      const made = await encode(image, job, optimizeCoding).toFile(job.output)
      return job.isKeptIfSmaller && metadata.format === job.format
        ? await makeNoLarger(image, job, metadata, made)
        : { kind: 'made', size: made.size, width: made.width, height: made.height }
    } catch (error) {
      return { kind: classifyFailure((error as Error).message) }
    }
  }

  function open(input: string | DecodedHeic, ignoreIcc = false): Sharp {
    if (typeof input === 'string') {
      return sharp(input, { limitInputPixels: MAX_PIXELS, failOn: 'error', ignoreIcc })
    }
    const { data, width, height, channels } = input
    return sharp(data, { raw: { width, height, channels } })
  }

  async function convert(image: Sharp, space: ColourSpace): Promise<Sharp> {
    const { data, info } = await image.raw().toBuffer({ resolveWithObject: true })
    const { width, height, channels } = info
    convertToSrgb(data, channels, space)
    return sharp(data, { raw: { width, height, channels } })
  }
}

/** The colour space of a file that libvips does not convert correctly; null for other files. */
async function spaceToConvert(path: string, { format, space, icc }: Metadata) {
  if (format !== 'png') return null
  if (space === 'grey16' && icc) return readProfileSpace(icc)
  return readPngSpace(await readFile(path))
}

/** Keeps the input without its metadata if that is smaller. Turning an image upright requires re-encoding it. */
async function makeNoLarger(
  image: Sharp,
  job: ImageJob,
  { orientation = 1, pages = 1, space, width, height }: Metadata,
  made: { size: number; width: number; height: number },
): Promise<ImageResult> {
  let result = made
  if (orientation === 1 && pages === 1 && space !== 'cmyk') {
    const kept = removeMetadata(await readFile(job.input), job.format)
    if (kept && kept.length * WORTHWHILE_RATIO <= made.size) {
      await writeFile(job.output, kept)
      return { kind: 'made', size: kept.length, width, height }
    }
  }
  const { size: limit } = await stat(job.input)
  const lowest = job.format === 'png' ? job.quality : 1
  for (let quality = job.quality - 20; result.size > limit && quality >= lowest; quality -= 20) {
    result = await encode(image, { ...job, quality }, true).toFile(job.output)
  }
  return { kind: 'made', size: result.size, width: result.width, height: result.height }
}

/** Decodes a HEIC file, for which libvips has no decoder; null for other files. */
async function openHeic(path: string): Promise<DecodedHeic | null> {
  const boxType = await Bun.file(path).slice(4, 8).text()
  return boxType === 'ftyp' ? await decodeHeic(await readFile(path), isTooLarge) : null
}

function isTooLarge(width: number, height: number): boolean {
  return width * height > MAX_PIXELS || Math.max(width, height) > MAX_SIDE
}

function toBox(job: ImageJob) {
  return 'width' in job ? { width: job.width } : { width: job.longSide, height: job.longSide }
}

export function hasPalette({ format, quality }: ImageJob): boolean {
  return format === 'png' && quality < LOSSLESS_QUALITY
}

function encode(image: Sharp, job: ImageJob, optimizeCoding: boolean): Sharp {
  const { format, quality } = job
  if (format === 'jpeg')
    return image.flatten({ background: '#ffffff' }).jpeg({ quality, optimizeCoding })
  if (format === 'webp') return image.webp({ quality, effort: WEBP_EFFORT })
  return image.png(hasPalette(job) ? { palette: true, effort: PALETTE_EFFORT } : {})
}

/** libvips reports errors as text only. */
function classifyFailure(message: string): 'too_large' | 'too_slow' | 'no_space' | 'unreadable' {
  if (/^timeout/i.test(message)) return 'too_slow'
  if (/pixel limit|too large/i.test(message)) return 'too_large'
  return /no space left on device/i.test(message) ? 'no_space' : 'unreadable'
}
