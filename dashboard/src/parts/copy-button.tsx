import Check from 'lucide-react/icons/check';
import Copy from 'lucide-react/icons/copy';
import { useEffect, useState } from 'react';
import { IconButton } from './button.tsx';
import { showToast } from './toast.tsx';

const shownMs = 1_200;

/** Copies a text, and shows for a moment that it has. */
export function CopyButton({
  text,
  label,
  small = true,
}: {
  readonly text: string;
  readonly label: string;
  readonly small?: boolean;
}) {
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return undefined;
    const timer = setTimeout(() => setIsCopied(false), shownMs);
    return () => clearTimeout(timer);
  }, [isCopied]);
  const Icon = isCopied ? Check : Copy;
  return (
    <IconButton
      icon={Icon}
      label={label}
      small={small}
      onClick={() => {
        void copyText(text).then(setIsCopied);
      }}
    />
  );
}

/** Resolves to true when the text is in the clipboard. Browsers give no clipboard to pages of plain HTTP other than localhost. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    showToast('Your browser blocked copying. Select the text and copy it manually.', 'failed');
    return false;
  }
}
