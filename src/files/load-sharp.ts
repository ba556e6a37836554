import type SharpModule from 'sharp';
import type { Logger } from '../base/logger.ts';

/** The library that makes thumbs: a native one, which not every installation has. */
export type Sharp = typeof SharpModule;

/** How the library is had; a port, so that tests may do without it. */
export interface SharpPort {
  readonly isInstalled: () => boolean;
  /** Returns undefined where it cannot be loaded. */
  readonly load: () => Promise<Sharp | undefined>;
}

export function installedSharp(logger: Logger): SharpPort {
  return { isInstalled: isSharpInstalled, load: () => loadSharp(logger) };
}

/** Whether it is installed. It is not loaded for that. */
function isSharpInstalled(): boolean {
  try {
    import.meta.resolve('sharp');
    return true;
  } catch {
    return false;
  }
}

/**
 * Loads it, and takes from it whatever reads other formats than the four that thumbs are made of: images come from strangers, and each
 * reader is one more that might have a fault. Returns undefined where it is not installed, or not for this machine.
 */
async function loadSharp(logger: Logger): Promise<Sharp | undefined> {
  try {
    const { default: sharp } = await import('sharp');
    sharp.block({ operation: ['VipsForeignLoad'] });
    sharp.unblock({
      operation: ['Jpeg', 'Png', 'Webp', 'Nsgif'].map((format) => `VipsForeignLoad${format}`),
    });
    // Images differ: nothing is computed twice. And each is made by a single thread.
    sharp.cache(false);
    sharp.concurrency(1);
    return sharp;
  } catch (error) {
    logger.warn('Thumbnails are disabled: the package sharp cannot be loaded.', { error });
    return undefined;
  }
}
