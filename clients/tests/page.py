"""Runs the programs of docs/clients.md and of the TypeScript README, and checks their types. All blocks of a page are one program.
usage: page.py python|typescript PLACE ORIGIN, with FERRY_SERVER in the environment and a place that prepare.sh made"""
import datetime, hashlib, json, os, pathlib, re, subprocess, sys

root = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(root / "scripts"))
from page_blocks import fenced

language, place, origin = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3]
short = {"python": "python", "typescript": "ts"}[language]
blocks = [text for name, text in fenced((root / "docs/clients.md").read_text()) if name == short]


def with_addresses(text):
    return text.replace("http://127.0.0.1:8080", os.environ["FERRY_SERVER"]).replace("https://origin.example", origin)


program = with_addresses("\n".join(blocks))

from standardwebhooks.webhooks import Webhook
body = json.dumps({"type": "task.willPerformHTTPRedirection", "timestamp": "", "data": {"sessionId": "ses_shared", "taskId": "tsk_1"}})
now = datetime.datetime.now(datetime.timezone.utc)
signature = Webhook("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").sign("whd_1", now, body)
headers = {"webhook-id": "whd_1", "webhook-timestamp": str(int(now.timestamp())), "webhook-signature": signature}


def run(*command, folder):
    result = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if result.returncode:
        sys.exit(f"{command[0]} failed:\n{result.stdout}")
    return result.stdout


(place / "photo.jpg").unlink(missing_ok=True)
if language == "python":
    file = place / "page.py"
    file.write_text(f"headers, body = {headers!r}, {body.encode()!r}\n" + program)
    run(sys.executable, "-m", "mypy", "--no-incremental", "--check-untyped-defs", "--python-executable", place / "python/bin/python", file, folder=place)
    output = run(place / "python/bin/python", "-W", "error", file, folder=place)
    reply = '200 {\'Content-Type\': \'application/json\'} b\'{"request": null}\''
else:
    folder = place / "node"
    imports, rest = (re.findall(pattern, program, re.M) for pattern in (r"^import .*$", r"^(?!import ).*$"))
    lines = imports + [f"const headers = {json.dumps(headers)};", f"const body = {json.dumps(body)};"] + rest
    (folder / "page.mts").write_text("\n".join(lines))
    [(_, readme)] = fenced((root / "clients/typescript/README.md").read_text())
    (folder / "readme.mts").write_text(with_addresses(readme.replace("origin.example/photo.jpg", "origin.example/file")))
    run("tsc", "--strict", "--target", "es2022", "--lib", "es2022,dom", "--module", "node16", "--moduleResolution",
        "node16", "page.mts", "readme.mts", folder=folder)
    if run("node", folder / "readme.mjs", folder=place).strip() != hashlib.sha256(b"for the clients").hexdigest():
        sys.exit("the program of clients/typescript/README.md printed another digest")
    (place / "photo.jpg").unlink()
    output = run("node", folder / "page.mjs", folder=place)
    reply = "200 { 'Content-Type': 'application/json' } {\"request\":null}"
for text in ["succeeded", "for the clients", "status 200", "task.willPerformHTTPRedirection tsk_1", reply, "the transfer failed: httpStatus 7"]:
    if text not in output:
        sys.exit(f"the output lacks '{text}':\n{output}")
if (place / "photo.jpg").read_text() != "for the clients" or (place / "missing").exists():
    sys.exit("the programs wrote other files")
print(f"{len(blocks)} programs ran")
