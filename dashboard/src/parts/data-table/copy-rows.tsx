import Braces from 'lucide-react/icons/braces';
import { Button } from '../button.tsx';
import { copyText } from '../copy-button.tsx';
import { showToast } from '../toast.tsx';

/** Copies the selected rows in the API's format. */
export function CopyRows({ rows }: { readonly rows: readonly unknown[] }) {
  const copy = async (): Promise<void> => {
    if (await copyText(JSON.stringify(rows, null, 2))) showToast('JSON copied.');
  };
  return (
    <Button icon={Braces} onClick={() => void copy()}>
      Copy JSON
    </Button>
  );
}
