import { mkdir, rm, stat } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { Busy } from '../base/errors.ts';
import type { Share } from '../base/fair-line.ts';
import { FairQueue } from '../base/fair-queue.ts';
import { newId } from '../base/ids.ts';
import type { Logger } from '../base/logger.ts';
import { isBlobName, readBytes, thumbsFolder } from './blob-store.ts';
import type { InstanceFiles } from './instance-files.ts';
import type { Sharp, SharpPort } from './load-sharp.ts';
import { detectType, headBytesMax } from './media-type.ts';
import { thumbShape } from './thumb-size.ts';

/** What an image may be for a thumb to be made of it, and the thumb; all others are sent as they are. */
const thumbLimits = {
  /** The whole file is in memory while its thumb is made. */
  imageBytesMax: 32 * 1024 * 1024,
  /** A small file may hold a huge image, and some forms of it are unpacked as a whole: 200 MB. */
  imagePixelsMax: 50_000_000,
  thumbPixelsMax: 16_000_000,
  secondsMax: 10,
} as const;

/** Images of which thumbs are made, in their own format. */
const formats: ReadonlySet<string> = new Set(['image/gif', 'image/jpeg', 'image/png', 'image/webp']);

/** How long an image whose thumb could not be made is sent as it is. */
const failureMs = 60_000;
/** More failures than this are forgotten at once: each then costs another try. */
const failuresMax = 10_000;

/** Threads of Node that read and sync files as well: thumbs must leave some of its four. */
const threadsMax = 2;

export interface ThumbToMake {
  /** Of the client that requests it first. */
  readonly share: Share;
  readonly files: InstanceFiles;
  /** Key of the image. */
  readonly key: string;
  /** As in requests: `100x50t`. */
  readonly size: string;
}

export interface ThumbMakerOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Loaded when the first thumb is requested. */
  readonly sharp: SharpPort;
}

/** Returns where a thumb is kept; undefined where a file system could have no such name. */
export function thumbKey(key: string, size: string): string | undefined {
  const name = `${size}_${key.slice(key.lastIndexOf('/') + 1)}`;
  const folder = thumbsFolder(key);
  return [name, folder.slice(folder.lastIndexOf('/') + 1)].every(isBlobName)
    ? `${folder}/${name}`
    : undefined;
}

/**
 * Makes thumbs of the images of all instances, each once: concurrent requests wait for the same. A few at a time, as each
 * takes a processor and memory.
 */
export class ThumbMaker {
  readonly #options: ThumbMakerOptions;
  readonly #queue = new FairQueue({
    runningMax: Math.min(availableParallelism(), threadsMax),
    waitingMax: 1_000,
    waitingOfInstanceMax: 200,
    waitingOfAddressMax: 100,
  });
  readonly #making = new Map<string, Promise<boolean>>();
  /** When each failed. */
  readonly #failures = new Map<string, number>();
  #sharp: Promise<Sharp | undefined> | undefined;

  constructor(options: ThumbMakerOptions) {
    this.#options = options;
  }

  /** What an operator should know: why no thumbs are made; undefined for nothing. */
  get warning(): string | undefined {
    const { sharp } = this.#options;
    return sharp.isInstalled()
      ? undefined
      : 'No thumbs are made of images: the package sharp is not installed.';
  }

  /** Makes a thumb. Returns false where none can be made, or not now: then the image is sent as it is. */
  async make(thumb: ThumbToMake): Promise<boolean> {
    const { instance, address } = thumb.share;
    const name = `${instance}/${thumb.key}/${thumb.size}`;
    const making = this.#making.get(name);
    if (making !== undefined) return making;
    const failedMs = this.#failures.get(name);
    if (failedMs !== undefined && this.#options.clock.now() - failedMs < failureMs) return false;
    // Without its signal: others may wait for the same thumb.
    const begun = this.#queue.run({ instance, address }, () => this.#tryToMake(thumb, name));
    if (begun === undefined) return false;
    const result = begun.catch(falseIfBusy).finally(() => this.#making.delete(name));
    this.#making.set(name, result);
    return result;
  }

  /** Waits for thumbs that are being made. */
  stop(): Promise<void> {
    return this.#queue.whenIdle();
  }

  async #tryToMake(thumb: ThumbToMake, name: string): Promise<boolean> {
    const { clock, logger, sharp: port } = this.#options;
    try {
      const sharp = await (this.#sharp ??= port.load());
      return sharp !== undefined && (await makeThumb(sharp, thumb));
    } catch (error) {
      logger.warn('A thumbnail could not be created.', {
        instance: thumb.share.instance,
        key: thumb.key,
        error,
      });
      if (this.#failures.size >= failuresMax) this.#failures.clear();
      this.#failures.set(name, clock.now());
      return false;
    }
  }
}

/** A thumb that was evicted from the queue is not made now. */
function falseIfBusy(error: unknown): false {
  if (error instanceof Busy) return false;
  throw error;
}

/** Returns false for a file that is no image, for one that is too large, and for one that is gone. Throws for one that cannot be read. */
async function makeThumb(sharp: Sharp, { files, key, size }: ThumbToMake): Promise<boolean> {
  const { store, uploadFolder } = files;
  const to = thumbKey(key, size);
  const blob = await store.find(key);
  if (to === undefined || blob === undefined || blob.size > thumbLimits.imageBytesMax) return false;
  const head = await readBytes(store, key, { first: 0, last: headBytesMax - 1 });
  const type = head && (await detectType(head, key));
  if (type === undefined || !formats.has(type)) return false;
  const bytes = await readBytes(store, key);
  if (bytes === undefined) return false;
  // Turned as the camera was held. All other metadata is dropped, such as the location.
  const image = sharp(bytes, {
    autoOrient: true,
    limitInputPixels: thumbLimits.imagePixelsMax,
    failOn: 'error',
  });
  const { autoOrient } = await image.metadata();
  const shape = thumbShape(size, autoOrient, thumbLimits.thumbPixelsMax);
  if (shape === undefined) return false;
  await mkdir(uploadFolder, { recursive: true, mode: 0o700 });
  const path = join(uploadFolder, newId());
  try {
    await image
      .resize(shape)
      .timeout({ seconds: thumbLimits.secondsMax })
      .toFormat(
        type === 'image/jpeg' ? 'jpeg' : type === 'image/png' ? 'png' : type === 'image/gif' ? 'gif' : 'webp',
      )
      .toFile(path);
    await store.put(to, { path, size: (await stat(path)).size, type });
  } finally {
    await rm(path, { force: true });
  }
  // A removal deletes the image before its thumbs: so one of the two sees the effect of the other.
  if ((await store.find(key)) !== undefined) return true;
  await store.removeAll(thumbsFolder(key));
  return false;
}
