import { X509Certificate } from 'node:crypto';
import { toTimestamp, type Timestamp } from '../base/timestamp.ts';

/** A certificate of a PEM text, as people compare it. */
export interface Certificate {
  /** In canonical form, without what stood around it. */
  readonly pem: string;
  readonly subject: string;
  readonly issuer: string;
  /** SHA-256 of its bytes, as `AA:BB:…`. */
  readonly fingerprint: string;
  readonly validFrom: Timestamp;
  readonly expires: Timestamp;
}

const block = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Reads the certificates of a PEM text, in their order. Returns the number of the first that is damaged, from 1, in their place. */
export function readCertificates(text: string): readonly Certificate[] | { readonly damaged: number } {
  const certificates: Certificate[] = [];
  for (const pem of text.match(block) ?? []) {
    const certificate = readCertificate(pem);
    if (certificate === undefined) return { damaged: certificates.length + 1 };
    certificates.push(certificate);
  }
  return certificates;
}

function readCertificate(pem: string): Certificate | undefined {
  try {
    const { subject, issuer, fingerprint256, validFrom, validTo, raw } = new X509Certificate(pem);
    const lines = raw.toString('base64').match(/.{1,64}/g) ?? [];
    return {
      pem: `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`,
      subject: nameText(subject),
      issuer: nameText(issuer),
      fingerprint: fingerprint256,
      validFrom: toTimestamp(Date.parse(validFrom)),
      expires: toTimestamp(Date.parse(validTo)),
    };
  } catch {
    // Neither the text nor OpenSSL's error is fit to be shown.
    return undefined;
  }
}

const nameLengthMax = 500;

/** Its parts are lines; an empty name is one that is nowhere in the certificate. */
function nameText(name: string | undefined): string {
  return (name ?? '').replaceAll('\n', ', ').slice(0, nameLengthMax).toWellFormed();
}

/** Returns until when the first certificate of a PEM text is valid, in milliseconds since 1970. Throws for a text that has none. */
export function certificateEnd(pem: Uint8Array): number {
  return Date.parse(new X509Certificate(pem).validTo);
}
