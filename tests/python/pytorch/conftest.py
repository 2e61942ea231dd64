"""One thread: torch's own and regard's would wait for each other in a spin on a machine with few
cores, and most of the time here goes to small tensor operations. test_torch_meaning.py has a case
of several."""
from packages import needed

torch = needed("torch")
torch.set_num_threads(1)
