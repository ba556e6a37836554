import Upload from 'lucide-react/icons/upload';
import { useState } from 'react';
import { Button } from '../../parts/button.tsx';
import { FileLabel } from '../../parts/file-input.tsx';
import type { ControlProps } from '../../parts/form/field.ts';
import { Notice } from '../../parts/notice.tsx';

const bytesMax = 32 * 1024;

/** A small image, kept as a data URL. */
export function LogoControl({ id, input, onChange }: ControlProps) {
  const [isTooLarge, setIsTooLarge] = useState(false);
  const logo = typeof input === 'string' ? input : '';
  const choose = (file: File): void => {
    setIsTooLarge(file.size > bytesMax);
    if (file.size > bytesMax) return;
    const reader = new FileReader();
    reader.addEventListener('load', () => onChange(reader.result));
    reader.readAsDataURL(file);
  };
  return (
    <div className="settings-logo">
      {logo !== '' && <img src={logo} alt="The logo" height={24} />}
      <FileLabel
        look="button"
        id={id}
        accept="image/png,image/jpeg,image/webp,image/svg+xml"
        onFiles={([file]) => choose(file)}
      >
        <Upload size={15} aria-hidden />
        Choose an image
      </FileLabel>
      {logo !== '' && (
        <Button tone="quiet" onClick={() => onChange('')}>
          Remove the logo
        </Button>
      )}
      {isTooLarge && <Notice tone="failed">The image has more than 32 KiB.</Notice>}
    </div>
  );
}
