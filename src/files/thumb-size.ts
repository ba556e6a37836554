export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** How an image is brought into a size, in the words of sharp. */
export interface ThumbShape extends ImageSize {
  readonly fit: 'cover' | 'fill';
  readonly position: 'centre' | 'top' | 'bottom';
}

const form = /^(\d{1,5})x(\d{1,5})([tbf]?)$/;

/**
 * Returns the shape of a thumb of an image: `WxH` is cut from the middle, `WxHt` from the top, `WxHb` from the bottom, `WxHf` is not
 * cut and never enlarged, and of `Wx0` and `0xH` the other side follows. Undefined for text that is no size, and for a thumb of more than
 * `pixelsMax` pixels.
 */
export function thumbShape(text: string, image: ImageSize, pixelsMax: number): ThumbShape | undefined {
  const [, first, second, end] = form.exec(text) ?? [];
  const [width, height] = [Number(first), Number(second)];
  // Neither is a number where there is no match.
  if (!(width > 0 || height > 0)) return undefined;
  const isCut = width > 0 && height > 0 && end !== 'f';
  const position = end === 't' ? 'top' : end === 'b' ? 'bottom' : 'centre';
  const shape: ThumbShape = isCut
    ? { width, height, fit: 'cover', position }
    : { ...scaled(image, scaleOf({ width, height }, image)), fit: 'fill', position: 'centre' };
  return shape.width * shape.height > pixelsMax ? undefined : shape;
}

/** Returns the factor by which the image fits; a side of 0 does not count. */
function scaleOf({ width, height }: ImageSize, image: ImageSize): number {
  const scales = [width / image.width, height / image.height].filter((scale) => scale > 0);
  return scales.length === 2 ? Math.min(1, ...scales) : Math.max(...scales);
}

function scaled({ width, height }: ImageSize, scale: number): ImageSize {
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
}
