"""The generated protobuf code is what the committed .proto generates."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PROTO = "crashloop/record/channels/containerd/api.proto"


@pytest.mark.parametrize("suffix", ["_pb2.py", "_pb2.pyi"], ids=["code", "types"])
def test_the_generated_code_is_up_to_date(suffix: str, tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "grpc_tools.protoc", "-I.", f"--python_out={tmp_path}", f"--pyi_out={tmp_path}", PROTO],
        cwd=ROOT,
        check=True,
        timeout=60,
    )
    generated = PROTO.replace(".proto", suffix)
    assert (tmp_path / generated).read_text() == (ROOT / generated).read_text(), "see the command in api.proto"
