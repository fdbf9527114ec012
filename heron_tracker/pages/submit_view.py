"""Form of a submission: its texts, and the script for sending the file.

The browser sends the file like curl, to the REST route of submissions. Login, checks against pages
of other sites, limits and answers are those of the route: a second way to a submission does not
exist.
"""

from dataclasses import dataclass
from html import escape

from heron_tracker.auth.access import SUBMIT_PATH
from heron_tracker.pages.links import PREFIX

NEEDS_LOGIN = (
    "a submission executes the client's code, so this service takes none without a login: start"
    " `heronpy ui` with --token-file or --openid-issuer"
)
ENDINGS_SHOWN = ".py,.yaml,.yml,.gz,.tgz"
"""Files offered by the browser's dialog; the route checks the name."""


@dataclass(frozen=True, slots=True)
class SubmitView:
    """Content of the page."""

    note: str
    """Reason of a refusal; empty for an operator."""
    form: str
    """HTML of the form; empty with a note."""


def submit_view(logs_in: bool, refused: str) -> SubmitView:
    """The form, or a reason without a form. `logs_in`: whether the service has a login; `refused`:
    reason by the reader's rights, empty for an operator."""
    note = refused if logs_in else NEEDS_LOGIN
    return SubmitView(note, "" if note else FORM)


def _field(name: str, label: str, rest: str, hint: str = "") -> str:
    """A field with its label, for screen readers, too."""
    text = f'<small id="{name}-hint">{escape(hint)}</small>' if hint else ""
    described = f' aria-describedby="{name}-hint"' if hint else ""
    return f'<label>{escape(label)}<input name="{name}"{rest}{described}></label>{text}'


FORM = (
    f'<form id="submission" class="submission" data-route="{SUBMIT_PATH}"'
    f' data-topologies="{PREFIX}/topology/">'
    + _field("name", "Name of the topology", ' required maxlength="200" autocomplete="off"')
    + _field(
        "file", "File", f' type="file" required accept="{ENDINGS_SHOWN}"',
        "A topology file, a Flux file, or an archive of `heronpy package`",
    )
    + _field(
        "topology", "Topology of the file", ' maxlength="200" autocomplete="off"',
        "Only for a file with several",
    )
    + '<label>Config<textarea name="config" rows="3" aria-describedby="config-hint"></textarea>'
    "</label>"
    '<small id="config-hint">A line for each key, as in topology.workers=2</small>'
    '<label class="choice"><input name="deactivated" type="checkbox"> Spouts wait for Activate'
    "</label>"
    '<button type="submit">Submit</button>'
    '<output role="status" aria-live="polite"></output>'
    "</form>"
)  # fmt: skip

SCRIPT = """
<script>
document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (form.id !== "submission") return;
  event.preventDefault();
  const file = form.elements.file.files[0];
  const query = new URLSearchParams({name: form.elements.name.value.trim(), file: file.name});
  const topology = form.elements.topology.value.trim();
  if (topology) query.append("topology", topology);
  if (form.elements.deactivated.checked) query.append("deactivated", "true");
  for (const line of form.elements.config.value.split("\\n"))
    if (line.trim()) query.append("config", line.trim());
  const answer = form.querySelector("output"), button = form.querySelector("button");
  button.disabled = true;
  answer.textContent = "Submitting: the file is loaded and checked";
  try {
    const response = await fetch(form.dataset.route + "?" + query, {method: "POST", body: file});
    const found = await response.json();
    if (response.ok) {
      location.assign(form.dataset.topologies + encodeURIComponent(found.result.topology));
      return;
    }
    answer.textContent = found.message;
  } catch (error) {
    answer.textContent = "The service does not answer: " + error.message;
  }
  button.disabled = false;
});
</script>
"""
"""Script of the form: one request; then the topology's page, or the error below the button."""
